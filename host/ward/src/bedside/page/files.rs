//! The files of the page, as they are in the program: no build step, nothing from other hosts.

/// A file that is served as it is.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// Its name in the folder of the page.
    pub name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its contents.
    pub text: &'static str,
}

impl File {
    const fn script(name: &'static str, text: &'static str) -> Self {
        Self { name, kind: "text/javascript; charset=utf-8", text }
    }
}

/// All of them; the page itself has no name.
pub const FILES: &[File] = &[
    File { name: "", kind: "text/html; charset=utf-8", text: include_str!("files/index.html") },
    File {
        name: "style.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("files/style.css"),
    },
    File::script("link.js", include_str!("files/link.js")),
    File::script("frame.js", include_str!("files/frame.js")),
    File::script("sign.js", include_str!("files/sign.js")),
    File::script("list.js", include_str!("files/list.js")),
    File::script("enrol.js", include_str!("files/enrol.js")),
    File::script("patients.js", include_str!("files/patients.js")),
    File::script("unblind.js", include_str!("files/unblind.js")),
    File::script("report.js", include_str!("files/report.js")),
];
