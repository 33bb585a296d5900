//! Code that differs between operating systems, each part once for unix and once for Windows.
//!
//! | | unix | Windows |
//! |---|---|---|
//! | private files | mode 0600, checked when a key is read | the permissions of their folder: keep keys in your profile |
//! | trusted files (log, head) | no link, owner, mode and names of the open file | only that it is a regular file |
//! | replacing a head | names exchanged, no descriptor needed | renamed; handles do not run out |
//! | lines to a virtual device | pseudo-terminal, unix socket, standard input and output | TCP on this machine (`tcp:PORT`) |
//! | dumps of a crashed program | forbidden when it starts | as the administrator set them: none by default |
//! | a serial port in use | locked with `flock` | the system opens a port once |
//! | owner of an open port | must be the user or root | not checked: any program of this machine may open a port |
//! | process behind a local stream | must belong to the user or root, as the kernel tells of the connection | not checked: any program of this machine may listen on a TCP port |
//! | folder of a virtual device's line | only the user and root may write to it and those above | no folder: a TCP port |

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
