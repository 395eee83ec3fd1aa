//! The little of vectors that meshes need, in f32.

pub type V = [f32; 3];

#[inline]
pub fn add(a: V, b: V) -> V {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline]
pub fn sub(a: V, b: V) -> V {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline]
pub fn scale(a: V, s: f32) -> V {
    a.map(|x| x * s)
}

#[inline]
pub fn dot(a: V, b: V) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline]
pub fn cross(a: V, b: V) -> V {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Of length 1, or `otherwise` when there is no direction.
#[inline]
pub fn unit(a: V, otherwise: V) -> V {
    let length = dot(a, a).sqrt();
    if length > 0.0 && length.is_finite() { scale(a, 1.0 / length) } else { otherwise }
}
