//! Who sits at the terminal, by the name that the operating system has for them.

use std::process::Command;

use super::AdminError;

/// The name of the user that this process runs as.
///
/// # Errors
/// When there is none, as in a container without users.
pub fn name() -> Result<String, AdminError> {
    // Only `id` asks the directory that the system itself asks. The variables are what it leaves to programs without it.
    let told = Command::new("id").arg("-un").output().ok().filter(|output| output.status.success());
    let told = told.and_then(|output| String::from_utf8(output.stdout).ok());
    let variables = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
    let mut names = told.into_iter().chain(variables).map(|name| name.trim().to_owned());
    names.find(|name| !name.is_empty()).ok_or(AdminError::Nameless)
}
