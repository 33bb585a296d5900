//! The commands that a Markdown document shows: in code blocks, and between backticks.

/// Programs that documents may name without being checked here.
pub const FOREIGN: [&str; 24] = [
    "apt",
    "apt-get",
    "cd",
    "chmod",
    "cp",
    "cargo-fuzz",
    "curl",
    "dpkg",
    "echo",
    "git",
    "man",
    "minisign",
    "mkdir",
    "picocom",
    "pip",
    "printf",
    "probe-rs",
    "rustup",
    "sha256sum",
    "socat",
    "ssh",
    "sudo",
    "tmux",
    "wine",
];

/// Texts of the protocol that look like commands.
const LITERALS: [&str; 2] = ["equipoise 3", "equipoise report 3"];

/// The lines of code blocks (indented or fenced), and the other lines.
pub fn split(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut code, mut prose) = (Vec::new(), Vec::new());
    let mut fenced = false;
    // An indented block begins behind an empty line; elsewhere the spaces continue a list item.
    let mut may_begin = true;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced || (may_begin && line.starts_with("    ")) {
            code.push(line);
        } else {
            prose.push(line);
            may_begin = line.trim().is_empty();
        }
    }
    (code, prose)
}

/// The text between single backticks, with line breaks as spaces.
pub fn inline_code(prose: &str) -> Vec<String> {
    let paragraphs = prose.split("\n\n");
    let spans = paragraphs.flat_map(|text| text.split('`').skip(1).step_by(2));
    spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The words of a shell line, one list a command: split at pipes, `&&`, `;` and `&`, without
/// redirections, comments and settings of variables.
pub fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    for c in line.chars().chain([' ', ';']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '|' | ';' | '&') => {
                words.extend(word.take());
                if c != ' ' {
                    all.push(std::mem::take(&mut words));
                }
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    all.push(words);
    for words in &mut all {
        if let Some(at) =
            words.iter().position(|word| word.starts_with('>') || word.starts_with("2>"))
        {
            words.truncate(at);
        }
        // Brackets mark what may be left out.
        for word in words.iter_mut().filter(|word| word.starts_with("[-") && word.ends_with(']')) {
            *word = word.trim_matches(['[', ']']).to_owned();
        }
        let settings = words.iter().take_while(|word| is_setting(word)).count();
        words.drain(..settings);
    }
    all.retain(|words| !words.is_empty());
    all
}

/// Whether a word of a command line sets a variable, as `NAME=value`.
pub fn is_setting(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

/// Lines of code blocks that are something else: the device's line, file contents, diagrams.
pub fn starts_a_command(line: &str) -> bool {
    let words = line.split_whitespace().skip_while(|word| is_setting(word));
    let first = words.take(1).collect::<String>();
    let ours = ["equipoise", "equipoise.exe", "cargo", "python3", "sh", "bash"];
    ours.contains(&first.as_str())
        || FOREIGN.contains(&first.as_str())
        || first.starts_with("examples/")
}

/// Every line that shows a command: those of code blocks, and spans that begin with one of ours or
/// of the tools for a board.
pub fn shown(text: &str) -> Vec<String> {
    let (code, prose) = split(text);
    let code = code.join("\n").replace("\\\n", " ");
    let lines = code.lines().map(str::trim).filter(|line| starts_a_command(line));
    let spans = inline_code(&prose.join("\n")).into_iter().filter(|span| {
        ["equipoise ", "cargo xtask ", "cargo test ", "cargo bench ", "probe-rs "]
            .iter()
            .any(|start| span.starts_with(start))
    });
    let all = lines.map(str::to_owned).chain(spans);
    all.filter(|line| !LITERALS.contains(&line.as_str())).collect()
}
