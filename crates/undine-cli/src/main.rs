//! The binary `undine`.

mod validate;

use std::process::ExitCode;

use clap::Parser;

/// Interactive fluid simulation.
#[derive(Parser, Debug)]
#[command(name = "undine", version)]
enum Undine {
    /// Measured against references, with errors and plots
    Validate(validate::ValidateArgs),
}

fn main() -> ExitCode {
    let Undine::Validate(args) = Undine::parse();
    match validate::run(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
