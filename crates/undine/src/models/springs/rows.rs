//! The springs of a body as rows of a matrix, laid out for lanes: nodes go in groups of sixteen, and a slot holds one link of each
//! node of a group. In a lattice or a weave neighbours have nearly everywhere numbers that differ by the same, so a slot is an
//! offset and what it reads lies side by side. Links that a node lacks have no stiffness.
//!
//! Each spring is in two slots, one for each end: a node's sum then stays in registers and no thread writes what another one does.
//! By count (it was not tried) that is a third more arithmetic than to go over springs once and add to both ends, which only one thread
//! could do.

use std::ops::Range;

use crate::state::springs::{Body, Springs};

/// Nodes of a group: the widest lanes there are.
pub(super) const GROUP: usize = 16;
/// Slots that share an offset are taken as long as they are at most so many times those that a list of neighbours needs: to pick
/// sixteen numbers one by one takes longer than to read a few that are not used, but a mesh of triangles has no order at all.
const SPARSE: usize = 3;

/// One number for each node of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Sixteen(pub(super) [f32; GROUP]);

/// What a slot reads.
#[derive(Clone, Debug)]
pub(super) enum Others {
    /// Nodes at a distance in number from those of the group.
    Along(Vec<i32>),
    /// Any nodes, by their numbers.
    Among(Vec<[u32; GROUP]>),
}

/// Where the links of a body are, and what does not change of them.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Nodes; the last group may have less than sixteen.
    pub(super) nodes: usize,
    /// Numbers before the first node in arrays that slots read, and after the last group: as far as any of them reaches.
    pub(super) margin: usize,
    /// Where the slots of each group begin; one longer than there are groups.
    first: Vec<u32>,
    pub(super) others: Others,
    /// Per slot: rest length, m, stiffness, N/m, and damping, N s/m; 0 where there is no link.
    pub(super) springs: Vec<[Sixteen; 3]>,
}

impl Rows {
    /// The rows of a body.
    pub(super) fn new(state: &Springs, body: &Body) -> Self {
        let degree = |g: usize| group(body, g).map(|i| state.links(i).len()).max().unwrap_or(0);
        let groups = body.nodes.len().div_ceil(GROUP);
        let along = Rows::along(state, body);
        let needed: usize = (0..groups).map(degree).sum();
        if along.springs.len() <= SPARSE * needed { along } else { Rows::among(state, body) }
    }

    fn empty(body: &Body, others: Others) -> Self {
        Rows { nodes: body.nodes.len(), margin: GROUP, first: vec![0], others, springs: Vec::new() }
    }

    /// Slots of one offset each.
    pub(super) fn along(state: &Springs, body: &Body) -> Self {
        let (mut rows, mut offsets) = (Rows::empty(body, Others::Along(Vec::new())), Vec::new());
        for g in 0..body.nodes.len().div_ceil(GROUP) {
            // Offset, and which nodes have it. Two springs may join the same nodes.
            let mut slots: Vec<(i32, [Option<u32>; GROUP])> = Vec::new();
            for (lane, i) in group(body, g).enumerate() {
                for link in state.links(i) {
                    let offset = link.other as i32 - i as i32;
                    let free = slots.iter().position(|(o, lanes)| *o == offset && lanes[lane].is_none());
                    let at = free.unwrap_or_else(|| {
                        slots.push((offset, [None; GROUP]));
                        slots.len() - 1
                    });
                    slots[at].1[lane] = Some(link.spring);
                }
            }
            slots.sort_by_key(|s| s.0);
            for (offset, links) in slots {
                offsets.push(offset);
                rows.margin = rows.margin.max(offset.unsigned_abs() as usize);
                rows.springs.push(constants(state, links));
            }
            rows.first.push(rows.springs.len() as u32);
        }
        rows.margin = rows.margin.next_multiple_of(GROUP);
        rows.others = Others::Along(offsets);
        rows
    }

    /// Slots of one link of each node, whatever it reaches.
    pub(super) fn among(state: &Springs, body: &Body) -> Self {
        let (mut rows, mut numbers) = (Rows::empty(body, Others::Among(Vec::new())), Vec::new());
        for g in 0..body.nodes.len().div_ceil(GROUP) {
            let most = group(body, g).map(|i| state.links(i).len()).max().unwrap_or(0);
            for k in 0..most {
                let (mut links, mut others) = ([None; GROUP], [rows.margin as u32; GROUP]);
                for (lane, i) in group(body, g).enumerate() {
                    if let Some(link) = state.links(i).get(k) {
                        links[lane] = Some(link.spring);
                        others[lane] = (rows.margin + link.other as usize - body.nodes.start) as u32;
                    }
                }
                numbers.push(others);
                rows.springs.push(constants(state, links));
            }
            rows.first.push(rows.springs.len() as u32);
        }
        rows.others = Others::Among(numbers);
        rows
    }

    /// Number of groups.
    pub(super) fn groups(&self) -> usize {
        self.first.len() - 1
    }

    /// Length of an array that slots read.
    pub(super) fn padded(&self) -> usize {
        2 * self.margin + GROUP * self.groups()
    }

    /// The slots of a group.
    #[inline(always)]
    pub(super) fn slots(&self, group: usize) -> Range<usize> {
        self.first[group] as usize..self.first[group + 1] as usize
    }
}

/// The nodes of a group.
fn group(body: &Body, g: usize) -> Range<usize> {
    let start = body.nodes.start + GROUP * g;
    start..(start + GROUP).min(body.nodes.end)
}

fn constants(state: &Springs, links: [Option<u32>; GROUP]) -> [Sixteen; 3] {
    [&state.rest, &state.stiffness, &state.damping]
        .map(|of| Sixteen(links.map(|s| s.map_or(0.0, |s| of[s as usize] as f32))))
}
