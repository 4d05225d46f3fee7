//! Parses the command line and hands over to `cli`.

fn main() {}
