//! Who is beside whom on a closed surface.

use super::Surface;

/// For each vertex its neighbours, in a fixed order, as one list with beginnings.
#[derive(Clone, Debug, Default)]
pub struct Adjacency {
    start: Vec<u32>,
    list: Vec<u32>,
}

impl Adjacency {
    /// The neighbours of each vertex: on a closed surface every side of a triangle is run through once each way.
    pub fn neighbors(surface: &Surface) -> Self {
        Self::collect(surface, |t, k| t[(k + 1) % 3], |_| 0)
    }

    /// The triangles around each vertex.
    pub fn triangles(surface: &Surface) -> Self {
        Self::collect(surface, |_, _| 0, |n| n)
    }

    fn collect(
        surface: &Surface,
        corner: impl Fn(&[u32; 3], usize) -> u32,
        number: impl Fn(u32) -> u32,
    ) -> Self {
        let mut start = vec![0u32; surface.position.len() + 1];
        for &v in surface.triangles.as_flattened() {
            start[v as usize + 1] += 1;
        }
        let mut sum = 0;
        for s in &mut start {
            sum += *s;
            *s = sum;
        }
        let mut cursor = start.clone();
        let mut list = vec![0; surface.triangles.len() * 3];
        for (n, t) in surface.triangles.iter().enumerate() {
            for k in 0..3 {
                let c = &mut cursor[t[k] as usize];
                // One of the two is always 0.
                list[*c as usize] = corner(t, k) + number(n as u32);
                *c += 1;
            }
        }
        Adjacency { start, list }
    }

    /// Where each vertex's own begin in the list, with its length, and the list.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>) {
        (self.start, self.list)
    }

    /// Of how many neighbours or triangles all vertices together tell.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// What belongs to a vertex.
    #[inline]
    pub fn of(&self, vertex: usize) -> &[u32] {
        &self.list[self.start[vertex] as usize..self.start[vertex + 1] as usize]
    }

    /// Where in the whole list that begins.
    #[inline]
    pub fn first(&self, vertex: usize) -> usize {
        self.start[vertex] as usize
    }
}
