//! Blocks of commands in a document.

/// A block of commands.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// It cannot be run, as the comment above it says.
    pub(crate) not_run: bool,
    /// Commands are repeated until their output is as shown.
    pub(crate) until_shown: bool,
    /// Exit code of the last command.
    pub(crate) exit_code: i32,
    pub(crate) commands: Vec<Command>,
}

/// A command with the output that is shown of it.
#[derive(Debug, Default)]
pub(crate) struct Command {
    /// Index of the document's line that it begins with, from 0.
    pub(crate) line: usize,
    /// Lines of it as they stand in the document, prompts included.
    pub(crate) typed: Vec<String>,
    pub(crate) shown: Vec<String>,
}

impl Block {
    /// Its lines with their numbers in the document, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.commands.iter().flat_map(|command| {
            let lines = command.typed.iter().chain(&command.shown);
            let numbers = command.line + 1..;
            numbers.zip(lines.map(String::as_str))
        })
    }
}

impl Command {
    /// What a shell is given.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<&str> = self.typed.iter().map(|line| &line[2..]).collect();
        lines.join("\n")
    }

    /// Index of the line after it and its output.
    pub(crate) fn end(&self) -> usize {
        self.line + self.typed.len() + self.shown.len()
    }
}

/// The blocks of commands of a document.
///
/// # Panics
/// On a comment that is not one of those that blocks may have, and on output without a command.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = (0..lines.len()).filter(|index| lines[*index] == "```console");
    starts.map(|start| block(&lines, start)).collect()
}

fn block(lines: &[&str], start: usize) -> Block {
    let mut block = Block::default();
    let above = lines[..start].iter().rev();
    for comment in above.take_while(|line| line.starts_with("<!-- ")) {
        note(&mut block, comment);
    }
    let inside = (start + 1..).zip(&lines[start + 1..]);
    for (index, line) in inside.take_while(|(_, line)| **line != "```") {
        let last = block.commands.last_mut();
        match last {
            Some(last) if last.shown.is_empty() && line.starts_with("> ") => {
                last.typed.push((*line).to_owned());
            }
            _ if line.starts_with("$ ") => block.commands.push(Command {
                line: index,
                typed: vec![(*line).to_owned()],
                shown: Vec::new(),
            }),
            Some(last) => last.shown.push((*line).to_owned()),
            None => panic!("line {}: output without a command: {line}", index + 1),
        }
    }
    block
}

/// Takes down what a comment above a block says.
fn note(block: &mut Block, comment: &str) {
    let inner = comment
        .strip_prefix("<!-- ")
        .and_then(|rest| rest.strip_suffix(" -->"));
    let inner = inner.unwrap_or(comment);
    if let Some(reason) = inner.strip_prefix("not run: ") {
        assert!(!reason.is_empty(), "no reason: {comment}");
        block.not_run = true;
    } else if inner == "until shown" {
        block.until_shown = true;
    } else if let Some(code) = inner.strip_prefix("exit code ") {
        block.exit_code = code.parse().unwrap();
    } else {
        panic!("{comment}: a block is `not run: REASON`, `until shown` or `exit code N`");
    }
}

#[test]
fn commands_and_their_output_are_told_apart() {
    let text = "x\n<!-- until shown -->\n```console\n$ a \\\n> b\n1\n\n2\n$ c\n```\n$ d\n";
    let blocks = blocks(text);
    assert_eq!(blocks.len(), 1);
    assert!(blocks[0].until_shown && !blocks[0].not_run);
    let commands = &blocks[0].commands;
    assert_eq!(commands[0].text(), "a \\\nb");
    assert_eq!(commands[0].shown, ["1", "", "2"]);
    assert_eq!((commands[0].line, commands[0].end()), (3, 8));
    assert_eq!(
        (commands[1].text(), commands[1].shown.len()),
        ("c".to_owned(), 0)
    );
}
