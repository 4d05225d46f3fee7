//! The input schemas of the fixtures.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// No arguments at all.
pub fn no_arguments() -> JsonObject {
    object(json!({ "type": "object", "additionalProperties": false }))
}

/// A parameter that travels in a header as well.
pub fn parameter_header() -> JsonObject {
    object(json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        "additionalProperties": false
    }))
}

/// The keywords of JSON Schema 2020-12 that a list of tools must keep, as the suite spells them.
pub fn json_schema_2020_12() -> JsonObject {
    object(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    }))
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(object) => object,
        _ => unreachable!("every schema above is an object"),
    }
}
