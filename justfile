# What is run before every commit. Whoever reads the documentation of a program reads its private items too, so links to
# them are no mistake.
check:
    cargo fmt -- --check
    cargo clippy --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --no-deps --document-private-items
    cargo test

# The connector with its embedded broker and the demo's responders, config.toml as it is.
dev:
    cargo run -- serve --demo

# With every new crate: licences, advisories, sources. `cargo install cargo-deny --locked` once.
deps:
    cargo deny check

# Ten thousand simulated runs of the rules for keys, or the one that failed, with all that happens in it: `just sim 4711`.
sim seed="":
    KUBEMQ_MCP_SIM_RUNS=10000 KUBEMQ_MCP_SIM_SEED={{seed}} cargo test --test it simulation::a_key -- --nocapture

# A thousand kills of the release build, and the power cuts: before a release, and after a change of the store.
crash:
    cargo build --release
    KUBEMQ_MCP_CRASH_ROUNDS=1000 KUBEMQ_MCP_TEST_PROGRAM="{{justfile_directory()}}/target/release/kubemq-mcp" \
        cargo test --test it -- crash:: power:: space:: --nocapture
