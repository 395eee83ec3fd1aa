//! The binary `undine`.

fn main() {
    println!("undine {}", env!("CARGO_PKG_VERSION"));
}
