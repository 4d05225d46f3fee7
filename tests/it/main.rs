//! The one integration binary.

mod embedded;
