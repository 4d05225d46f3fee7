//! What the fixtures answer: the smallest picture, the smallest sound, a resource.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ContentBlock, ResourceContents};

/// One red pixel as PNG, in base64.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A WAV file with a header and no sample: mono, 8 kHz, 8 bit.
const WAV: [u8; 44] =
    *b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0";

/// A picture.
pub fn image() -> ContentBlock {
    ContentBlock::image(PNG, "image/png")
}

/// A sound.
pub fn audio() -> ContentBlock {
    ContentBlock::audio(STANDARD.encode(WAV), "audio/wav")
}

/// An embedded resource.
pub fn resource() -> ContentBlock {
    let text = "This is an embedded resource content.";
    ContentBlock::resource(
        ResourceContents::text(text, "test://embedded-resource").with_mime_type("text/plain"),
    )
}

/// A text, a picture and a resource.
pub fn mixed() -> Vec<ContentBlock> {
    let json = ResourceContents::text(r#"{"test":"data","value":123}"#, "test://mixed-content-resource")
        .with_mime_type("application/json");
    vec![ContentBlock::text("Multiple content types test:"), image(), ContentBlock::resource(json)]
}
