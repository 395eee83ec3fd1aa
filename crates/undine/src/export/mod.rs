//! Writers, one file per format. They see only a [`crate::frame::Frame`].
