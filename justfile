# What is run before every commit.
check:
    cargo fmt -- --check
    cargo clippy --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items
    cargo test

# The connector with its embedded broker and the demo's responders, config.toml as it is.
dev:
    cargo run -- serve --demo

# With every new crate: licences, advisories, sources. `cargo install cargo-deny --locked` once.
deps:
    cargo deny check
