//! The flow diagram as a picture.

use super::{Consort, Counts};
use equipoise_study::chart::svg::Svg;

const WIDTH: f64 = 840.0;
const LINE: f64 = 18.0;
const MARGIN: f64 = 24.0;
const GAP: f64 = 34.0;
/// Width of a box, and most characters of a line in it.
const BOX: f64 = 380.0;
const WRAP: usize = 48;
const STROKE: &str = "fill=\"none\" stroke=\"#333\" stroke-width=\"1.5\"";

/// A text in lines of at most [`WRAP`] characters; later lines are indented.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + word.chars().count() >= WRAP {
            lines.push(std::mem::take(&mut line));
            line.push_str("    ");
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

fn height(lines: &[String]) -> f64 {
    LINE * lines.len() as f64 + 16.0
}

/// A box of lines, the first one bold; its lower edge.
fn boxed(svg: &mut Svg, x: f64, y: f64, lines: &[String]) -> f64 {
    let height = height(lines);
    svg.rect([x, y], [BOX, height], STROKE);
    for (place, line) in lines.iter().enumerate() {
        let style = if place == 0 { "font-weight=\"bold\" " } else { "" };
        let style = format!("{style}xml:space=\"preserve\"");
        svg.text(x + 12.0, y + 8.0 + LINE * (place as f64 + 0.75), &style, line);
    }
    y + height
}

/// An arrow that ends at `to`.
fn arrow(svg: &mut Svg, from: [f64; 2], to: [f64; 2]) {
    svg.line(from, to, STROKE);
    let [x, y] = to;
    let path = if from[0] == x {
        format!("M{:.1} {:.1}L{x:.1} {y:.1}L{:.1} {:.1}Z", x - 4.0, y - 8.0, x + 4.0, y - 8.0)
    } else {
        format!("M{:.1} {:.1}L{x:.1} {y:.1}L{:.1} {:.1}Z", x - 8.0, y - 4.0, x - 8.0, y + 4.0)
    };
    svg.path(&path, "fill=\"#333\"");
}

fn counts(name: &str, counts: Counts) -> Vec<String> {
    let mut lines = wrapped(name);
    for (of, number) in counts.named() {
        lines.push(format!("{of}: {number}"));
    }
    lines
}

impl Consort {
    /// The flow diagram as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let known = |count: Option<u32>| count.map_or("not known".to_owned(), |n| n.to_string());
        let screened = vec![format!("Assessed for eligibility: {}", known(self.screened()))];
        let mut excluded = vec![format!("Excluded: {}", self.excluded_count())];
        for (reason, count) in &self.excluded {
            excluded.extend(wrapped(&format!("{reason}: {count}")));
        }
        if self.eligible_only > 0 {
            excluded.push(format!("eligible, not enrolled: {}", self.eligible_only));
        }
        let mut enrolled = vec![format!("Enrolled: {}", self.all.enrolled + self.unclear)];
        if self.unclear > 0 {
            enrolled.push(format!("treatment not known: {}", self.unclear));
        }
        let groups: Vec<Vec<String>> = self.arms.as_ref().map_or_else(
            || {
                let mut lines = counts("Both arms", self.all);
                lines.push("by arm: with the custodian's key".to_owned());
                vec![lines]
            },
            |arms| arms.iter().map(|(name, of)| counts(name, *of)).collect(),
        );
        let analysed = vec![format!("Outcomes analysed (noisy): {}", known(self.analysed))];

        let [left, right] = [MARGIN, WIDTH - MARGIN - BOX];
        let (middle, top) = ((WIDTH - BOX) / 2.0, 60.0);
        let deepest = groups.iter().map(|lines| height(lines)).fold(0.0, f64::max);
        let side = if self.asks { height(&excluded) } else { 0.0 };
        let enrolled_at = top + height(&screened) + side + 2.0 * GAP;
        let arms_at = enrolled_at + height(&enrolled) + GAP;
        let analysed_at = arms_at + deepest + GAP;
        let bottom = analysed_at + height(&analysed) + MARGIN;

        let mut svg = Svg::new(WIDTH, bottom, &format!("Flow of patients: {}", self.title));
        svg.text(MARGIN, 34.0, "font-size=\"18\" font-weight=\"bold\"", &self.title);
        let centre = if self.asks { left } else { middle };
        let spine = centre + BOX / 2.0;
        let end = boxed(&mut svg, centre, top, &screened);
        arrow(&mut svg, [spine, end], [spine, enrolled_at]);
        if self.asks {
            let at = end + GAP;
            boxed(&mut svg, right, at, &excluded);
            let y = at + side / 2.0;
            arrow(&mut svg, [spine, y], [right, y]);
        }
        let end = boxed(&mut svg, centre, enrolled_at, &enrolled);
        let places = if groups.len() == 1 { vec![centre] } else { vec![left, right] };
        for (x, lines) in places.into_iter().zip(&groups) {
            let to = x + BOX / 2.0;
            let bend = end + GAP / 2.0;
            svg.line([spine, end], [spine, bend], STROKE);
            svg.line([spine, bend], [to, bend], STROKE);
            arrow(&mut svg, [to, bend], [to, arms_at]);
            let low = boxed(&mut svg, x, arms_at, lines);
            let join = analysed_at - GAP / 2.0;
            svg.line([to, low], [to, join], STROKE);
            svg.line([to, join], [WIDTH / 2.0, join], STROKE);
        }
        arrow(&mut svg, [WIDTH / 2.0, analysed_at - GAP / 2.0], [WIDTH / 2.0, analysed_at]);
        boxed(&mut svg, middle, analysed_at, &analysed);
        svg.finish()
    }
}
