//! How the answer of a tool is printed.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// What follows the last block of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A new line, for a terminal.
    NewLine,
    /// Nothing, so that a file gets a body byte for byte.
    AsItIs,
}

/// Prints the blocks of an answer, with a new line between two of them.
///
/// A body that is not UTF-8 comes as base64 and is printed as the bytes it stands for.
///
/// # Errors
/// When the output does not take it.
pub fn print(result: &CallToolResult, output: &mut impl Write, ending: Ending) -> io::Result<()> {
    for (index, block) in result.content.iter().enumerate() {
        if index > 0 {
            writeln!(output)?;
        }
        print_block(block, output)?;
    }
    if ending == Ending::NewLine {
        writeln!(output)?;
    }
    output.flush()
}

fn print_block(block: &ContentBlock, output: &mut impl Write) -> io::Result<()> {
    match block {
        ContentBlock::Text(content) => output.write_all(content.text.as_bytes()),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => output.write_all(text.as_bytes()),
            ResourceContents::BlobResourceContents { blob, .. } => {
                output.write_all(&STANDARD.decode(blob).map_err(io::Error::other)?)
            }
            other => Ok(serde_json::to_writer(output, other)?),
        },
        other => Ok(serde_json::to_writer(output, other)?),
    }
}

/// Prints a whole answer as JSON.
///
/// # Errors
/// When the output does not take it.
pub fn print_json(result: &CallToolResult, output: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, result)?;
    writeln!(output)?;
    output.flush()
}
