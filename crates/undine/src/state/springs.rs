//! Mass-spring bodies as parallel arrays: nodes, the springs between them, and bodies as ranges of both.

use std::ops::Range;

use glam::DVec3;

use crate::scene::SolidKind;

/// Nodes and springs of all bodies. Arrays of nodes are equally long, and so are those of springs.
#[derive(Clone, Debug, Default)]
pub struct Springs {
    /// Node positions, m.
    pub position: Vec<DVec3>,
    /// Node velocities, m/s.
    pub velocity: Vec<DVec3>,
    /// Node masses, kg.
    pub mass: Vec<f64>,
    /// Nodes that are held where they are.
    pub pinned: Vec<bool>,
    /// Distance at which a node touches a wall, m.
    pub radius: Vec<f64>,
    /// Forces from outside for the next step, N; zero again after it.
    pub force: Vec<DVec3>,
    /// The nodes that each spring joins, the lower number first.
    pub pair: Vec<[u32; 2]>,
    /// Rest lengths, m.
    pub rest: Vec<f64>,
    /// Stiffness k of each spring, N/m.
    pub stiffness: Vec<f64>,
    /// Damping z of each spring, N s/m.
    pub damping: Vec<f64>,
    /// The bodies, in the order of the scene.
    pub bodies: Vec<Body>,
    /// Where the links of each node begin in `links`; one longer than there are nodes.
    first_link: Vec<u32>,
    links: Vec<Link>,
}

/// A body: its ranges of nodes and springs, and what does not change while it moves.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its name in the scene.
    pub name: String,
    /// What it is.
    pub kind: SolidKind,
    /// Its nodes.
    pub nodes: Range<usize>,
    /// Its springs.
    pub springs: Range<usize>,
    /// Triangles over its nodes, numbered from its first: the border of a lattice, the sheet of a cloth.
    pub triangles: Vec<[u32; 3]>,
    /// Distance of neighbouring nodes at rest, m; the radius of a ball.
    pub spacing: f64,
    /// Coulomb's coefficient of friction of its contacts.
    pub friction: f64,
    /// Mass of all nodes, kg.
    pub mass: f64,
    /// Mass of its lightest node, kg.
    pub lightest: f64,
    /// Whether any node is held.
    pub is_held: bool,
    /// Estimate of its lowest elastic frequency, rad/s; 0 without springs.
    pub lowest_frequency: f64,
    /// Upper bound of its elastic frequencies, rad/s.
    pub highest_frequency: f64,
}

/// One end of a spring, as its node sees it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The node at the other end.
    pub other: u32,
    /// The spring.
    pub spring: u32,
}

impl Springs {
    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// Adds a node; returns its number.
    pub fn push_node(&mut self, position: DVec3, velocity: DVec3, mass: f64, radius: f64) -> u32 {
        self.position.push(position);
        self.velocity.push(velocity);
        self.mass.push(mass);
        self.pinned.push(false);
        self.radius.push(radius);
        self.force.push(DVec3::ZERO);
        (self.len() - 1) as u32
    }

    /// Adds a spring that is at rest now.
    pub fn push_spring(&mut self, a: u32, b: u32, stiffness: f64, damping: f64) {
        self.pair.push([a.min(b), a.max(b)]);
        self.rest.push(self.position[a as usize].distance(self.position[b as usize]));
        self.stiffness.push(stiffness);
        self.damping.push(damping);
    }

    /// Lists the springs of each node; to be called when all are there.
    pub fn link(&mut self) {
        let mut first = vec![0u32; self.len() + 1];
        for p in self.pair.as_flattened() {
            first[*p as usize + 1] += 1;
        }
        for i in 0..self.len() {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut links = vec![Link { other: 0, spring: 0 }; 2 * self.pair.len()];
        for (spring, &[a, b]) in self.pair.iter().enumerate() {
            for (node, other) in [(a, b), (b, a)] {
                let at = &mut next[node as usize];
                links[*at as usize] = Link { other, spring: spring as u32 };
                *at += 1;
            }
        }
        (self.first_link, self.links) = (first, links);
    }

    /// The springs of a node.
    #[inline(always)]
    pub fn links(&self, node: usize) -> &[Link] {
        &self.links[self.first_link[node] as usize..self.first_link[node + 1] as usize]
    }

    /// Whether a spring joins two nodes.
    pub fn are_joined(&self, a: usize, b: usize) -> bool {
        self.links(a).iter().any(|l| l.other as usize == b)
    }

    /// Momentum of the nodes in a range, kg m/s.
    pub fn momentum(&self, nodes: Range<usize>) -> DVec3 {
        nodes.map(|i| self.mass[i] * self.velocity[i]).sum()
    }

    /// Kinetic energy of all nodes, J.
    pub fn kinetic_energy(&self) -> f64 {
        self.mass.iter().zip(&self.velocity).map(|(m, v)| 0.5 * m * v.length_squared()).sum()
    }

    /// Energy stored in all springs, J.
    pub fn elastic_energy(&self) -> f64 {
        self.stored(0..self.pair.len())
    }

    /// Energy stored in the springs of a range, J.
    pub fn stored(&self, springs: Range<usize>) -> f64 {
        let stored = |s: usize| {
            let [a, b] = self.pair[s];
            let l = self.position[a as usize].distance(self.position[b as usize]);
            0.5 * self.stiffness[s] * (l - self.rest[s]).powi(2)
        };
        springs.map(stored).sum()
    }

    /// Centre of mass of the nodes in a range, m.
    pub fn centre(&self, nodes: Range<usize>) -> DVec3 {
        let mass: f64 = self.mass[nodes.clone()].iter().sum();
        nodes.map(|i| self.mass[i] * self.position[i]).sum::<DVec3>() / mass
    }
}
