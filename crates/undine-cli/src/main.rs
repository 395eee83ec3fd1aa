//! The binary `undine`: scene file in, frames out.

mod args;
mod bench;
mod check;
mod failure;
mod picture;
mod progress;
mod render;
mod run;
mod scenes;
mod surface;
mod text;
mod threads;
mod validate;
mod view;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", failure::message(&error));
            failure::exit_code(&error)
        }
    }
}

fn dispatch(cli: &Cli) -> Result<()> {
    match &cli.command {
        None => view::without_display(),
        Some(Command::View(args)) => view::view(args),
        Some(Command::Run(args)) => run::run(args),
        Some(Command::Check(args)) => check::check(args),
        Some(Command::Surface(args)) => surface::surface(args),
        Some(Command::Render(args)) => render::render(args),
        Some(Command::Scenes(args)) => scenes::scenes(args),
        Some(Command::Schema) => scenes::schema(),
        Some(Command::Bench(args)) => bench::bench(args),
        Some(Command::Validate(args)) => validate::validate(args),
    }
}
