//! The SVG writer of all pictures: a few shapes, written as text.
//!
//! Text is escaped here and nowhere else. Attributes are passed as written, without the blank
//! before the first one.

use std::fmt::{Display, Write};

/// Where the line below the title stands.
pub const FIRST_SUBTITLE: f64 = 54.0;

/// A picture being written.
#[derive(Clone, Debug)]
pub struct Svg(String);

impl Svg {
    /// An empty white picture of this size, in pixels.
    #[must_use]
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans, Arial, sans-serif\" \
             font-size=\"13\">\n<title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            escape(title)
        ))
    }

    /// Title and subtitle at the upper left.
    pub fn headings(&mut self, title: &str, subtitle: &str) {
        self.text(24.0, 32.0, "font-size=\"18\" font-weight=\"bold\"", title);
        self.text(24.0, FIRST_SUBTITLE, "fill=\"#444\"", subtitle);
    }

    /// Text whose anchor is at `x`, `y`.
    pub fn text(&mut self, x: f64, y: f64, attributes: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(self.0, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{text}</text>");
    }

    /// Text that reads upwards, centred at `x`, `y`.
    pub fn upward_text(&mut self, x: f64, y: f64, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.0,
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\" \
             font-size=\"14\">{text}</text>"
        );
    }

    /// A path.
    pub fn path(&mut self, path: &str, attributes: &str) {
        let _ = writeln!(self.0, "<path d=\"{path}\" {attributes}/>");
    }

    /// A straight line.
    pub fn line(&mut self, [x0, y0]: [f64; 2], [x1, y1]: [f64; 2], attributes: &str) {
        self.path(&format!("M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}"), attributes);
    }

    /// A rectangle.
    pub fn rect(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], attributes: &str) {
        let _ = writeln!(
            self.0,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {attributes}/>"
        );
    }

    /// A disc.
    pub fn disc(&mut self, [x, y]: [f64; 2], radius: f64, attributes: &str) {
        let _ =
            writeln!(self.0, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" {attributes}/>");
    }

    /// Limits what `draw` adds to a rectangle; `name` is unique in the picture.
    pub fn clipped(
        &mut self,
        name: impl Display,
        [x, y]: [f64; 2],
        [width, height]: [f64; 2],
        draw: impl FnOnce(&mut Self),
    ) {
        let _ = writeln!(
            self.0,
            "<clipPath id=\"{name}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>\
             </clipPath>\n<g clip-path=\"url(#{name})\">"
        );
        draw(self);
        self.0 += "</g>\n";
    }

    /// The finished text.
    #[must_use]
    pub fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Text as the content or an attribute of an element.
#[must_use]
pub fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
