#pragma once

#include <nki/emit/event_names.hpp>
#include <nki/emit/timeline_data.hpp>
#include <nki/ir/program.hpp>
#include <nki/sim/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nki::inline v0_1::emit {

namespace detail {

/// 1, 2 or 5 times a power of ten, at least x.
inline double nice_step(double x) {
  double step = 1;
  while (step < x) step *= 10;
  while (step / 10 >= x) step /= 10;
  for (double part : {0.2, 0.5})
    if (step * part >= x) return step * part;
  return step;
}

class SvgWriter {
 public:
  SvgWriter(const ir::Program& p, const sim::Result& r, const sim::Timeline& t, const TimelineText& text)
      : p_(p), r_(r), t_(t), text_(text), names_(p), bars_(bars_of(p, t)) {
    end_ = std::max({bars_.end, r.body, std::int64_t{1}});
    begin_ = std::min(bars_.begin, std::int64_t{0});
  }

  std::string write() {
    lay_out();
    const std::string title = heading(p_, text_), height = std::to_string(height_);
    add(out_, {R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 )", height, R"(" width="1200" height=")",
               height, R"(" role="img" aria-labelledby="nki-title nki-desc" font-size="12")",
               R"( font-family="system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif">)", "\n<title id=\"nki-title\">",
               escape_html(title), "</title>\n<desc id=\"nki-desc\">", escape_html(in_words(r_, bars_)),
               text_.note.empty() ? "" : " ", escape_html(text_.note), "</desc>\n"});
    patterns();
    add(out_, {R"(<rect width="1200" height=")", height, "\" rx=\"8\" fill=\"#ffffff\"/>\n"});
    label(16, 28, title, R"(font-size="17" font-weight="600")");
    label(1184, 28, concat({grouped(microseconds(r_.body, r_.ticks_per_ns, 1)), " \xC2\xB5s"}),
          R"(text-anchor="end" font-size="17" font-weight="600")");
    int y = 46;
    for (const std::string& line : under_title()) {
      label(16, y, line, R"(fill="#4a4f55")");
      y += 17;
    }
    axis();
    rows();
    legend();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  static constexpr double left = 112, right = 1098;

  static std::string num(double x) {
    std::string s = fixed(x, 2);
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
    return s;
  }
  double x_of(std::int64_t t) const {
    return left + (right - left) * static_cast<double>(t - begin_) / static_cast<double>(end_ - begin_);
  }
  void label(double x, double y, std::string_view text, std::string_view style) {
    add(out_, {"<text x=\"", num(x), "\" y=\"", num(y), "\" ", style, ">", escape_html(text), "</text>\n"});
  }
  void box(double x, double y, double w, double h, std::string_view fill, std::string_view title = {}) {
    add(out_, {"<rect x=\"", num(x), "\" y=\"", num(y), "\" width=\"", num(w), "\" height=\"", num(h), "\" fill=\"",
               fill, "\""});
    if (title.empty())
      out_ += "/>\n";
    else
      add(out_, {"><title>", escape_html(title), "</title></rect>\n"});
  }

  std::vector<std::string> under_title() const {
    std::vector<std::string> lines;
    if (!text_.subtitle.empty()) lines.push_back(text_.subtitle);
    if (!p_.params.empty()) lines.push_back(p_.params);
    lines.push_back(concat({"model ", text_.model_version, text_.note.empty() ? "" : ". ", text_.note}));
    const auto kept = static_cast<std::int64_t>(t_.events.size());
    if (t_.dropped > 0)
      lines.push_back(concat({"Only the first ", with_commas(kept), " of ", with_commas(kept + t_.dropped),
                              " events were recorded and are shown."}));
    return lines;
  }

  static int lane_height(std::size_t row) { return is_queue(static_cast<sim::Event::Row>(row)) ? 15 : 24; }
  void lay_out() {
    int y = 46 + 17 * static_cast<int>(under_title().size()) + 26;
    top_ = y - 4;
    for (std::size_t row = 0; row < row_count; ++row) {
      if (row == static_cast<std::size_t>(sim::Event::Row::dma_sync)) y += 8;
      y_[row] = y;
      y += bars_.lanes[row] == 0 ? 16 : lane_height(row) * bars_.lanes[row];
      bottom_[row] = y;
      y += 8;
    }
    plot_end_ = y - 4;
    height_ = plot_end_ + 50;
  }

  void pattern(std::string_view id, std::string_view paper, std::string_view color, std::string_view opacity,
               std::string_view path) {
    add(out_, {"<pattern id=\"nki-", id,
               R"(" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" fill=")", paper,
               "\"/><path d=\"", path, "\" stroke=\"", color, "\" stroke-opacity=\"", opacity,
               "\" stroke-width=\"1.2\"/></pattern>\n"});
  }
  void patterns() {
    constexpr const char *up = "M-1 7L7 -1M-1 1L1 -1M5 7L7 5", *down = "M-1 -1L7 7M-1 5L1 7M5 -1L7 1",
                         *cross = "M-1 7L7 -1M-1 -1L7 7", *level = "M0 1.5H6M0 4.5H6", *upright = "M1.5 0V6M4.5 0V6",
                         *dots = "M1 2H2.4M4 5H5.4";
    constexpr std::array<const char*, look_count> over{"", level, dots, "", up, down, cross, ""};
    constexpr std::array<const char*, machine::cause_count> waiting{down, up, upright, cross, level};
    out_ += "<defs>\n";
    for (std::size_t l = 0; l < look_count; ++l)
      if (*over[l] != 0) pattern(concat({"look", std::to_string(l)}), look_colors[l], "#000000", "0.38", over[l]);
    for (std::size_t c = 0; c < machine::cause_count; ++c)
      pattern(concat({"wait", std::to_string(c)}), "#ffffff", cause_colors[c], "1", waiting[c]);
    out_ += "</defs>\n";
  }
  static std::string fill_of(Look l) {
    const auto number = static_cast<std::size_t>(l);
    if (l == Look::matmul || l == Look::trigger || l == Look::other) return look_colors[number];
    return concat({"url(#nki-look", std::to_string(number), ")"});
  }
  static std::string fill_of(machine::Cause c) {
    return concat({"url(#nki-wait", std::to_string(static_cast<int>(c)), ")"});
  }

  void axis() {
    const double unit = 1000.0 * static_cast<double>(r_.ticks_per_ns);
    const double first = static_cast<double>(begin_) / unit, us = static_cast<double>(end_ - begin_) / unit;
    const double step = nice_step(us / 9.0);
    const int decimals = step >= 1 ? 0 : step >= 0.1 ? 1 : 2;
    for (double t = 0; t <= first + us * 1.0001; t += step) {
      const double x = left + (right - left) * (t - first) / us;
      add(out_, {"<path d=\"M", num(x), " ", std::to_string(top_), "V", std::to_string(plot_end_),
                 "\" stroke=\"#d8dbdf\"/>\n"});
      label(x, top_ - 5, concat({grouped(fixed(t, decimals)), t == 0 ? " \xC2\xB5s" : ""}),
            R"(text-anchor="middle" font-size="11" fill="#4a4f55")");
    }
  }

  void rows() {
    const std::array<std::int64_t, row_count> cover = covered(bars_);
    for (std::size_t row = 0; row < row_count; ++row) {
      const bool queue = is_queue(static_cast<sim::Event::Row>(row)), empty = bars_.lanes[row] == 0;
      const double middle = 0.5 * (y_[row] + bottom_[row]) + 4;
      box(left, y_[row], right - left, bottom_[row] - y_[row], "#f4f5f7");
      label(16, middle, row_names[row], empty ? R"(fill="#7a7f85")" : R"(font-weight="600")");
      const std::string busy = percent(share(queue ? cover[row] : r_.streams[row].busy, r_.body));
      label(1184, middle, empty ? "idle" : concat({busy, " busy"}), R"(text-anchor="end" fill="#4a4f55")");
    }
    waits();
    std::array<std::array<Run, max_lanes>, row_count> open{};
    for (const Bar& b : bars_.bars) {
      Run& run = open[static_cast<std::size_t>(b.row)][b.lane];
      const Look look = names_.look(b.site, b.kind, b.row);
      const double x0 = x_of(b.start), x1 = x_of(b.shown_end);
      // Bars too thin to part are drawn as one, as high as they cover its width, so that the picture of a long run
      // stays small and does not look busier than the run is.
      const bool near = run.count > 0 && run.thin && x1 - x0 < thin && x0 - run.x1 < near_by && run.look == look;
      if ((near && x1 - run.x0 <= chunk) || (run.count > 0 && x1 - run.x1 < 0.5)) {
        ++run.count;
      } else {
        if (near) run.x1 = x0;
        draw(run, b.row, b.lane);
        run = {look, x1 - x0 < thin, near, x0, x1, 0, 1, &b, b.end};
      }
      run.cover += x1 - x0;
      run.x1 = std::max(run.x1, x1);
      run.end = std::max(run.end, b.end);
    }
    for (std::size_t row = 0; row < row_count; ++row)
      for (std::size_t lane = 0; lane < max_lanes; ++lane)
        draw(open[row][lane], static_cast<sim::Event::Row>(row), static_cast<int>(lane));
  }

  static constexpr double thin = 2, near_by = 2.5, chunk = 6;
  struct Run {
    Look look = Look::other;
    bool thin = false, follows = false;
    double x0 = 0, x1 = 0, cover = 0;
    std::int64_t count = 0;
    const Bar* first = nullptr;
    std::int64_t end = 0;
  };
  void draw(const Run& run, sim::Event::Row r, int lane) {
    if (run.count == 0) return;
    const auto row = static_cast<std::size_t>(r);
    // A bar that stands alone is a line, however short it is.
    const double full = lane_height(row) - 2, w = std::max(run.x1 - run.x0, 0.5), dense = std::min(1.0, run.cover / w);
    const double h = run.thin && (run.count > 1 || run.follows) ? std::max(1.5, full * dense) : full;
    const double y = y_[row] + lane_height(row) * lane + 1 + full - h;
    const double gap = w > 3 && !run.thin ? 0.6 : 0;  // before the next bar, where there is room for it
    const auto us = [&](std::int64_t t) { return microseconds(t, r_.ticks_per_ns); };
    std::string title;
    if (run.count > 1) add(title, {with_commas(run.count), " bars, the first "});
    add(title, {names_.op(run.first->site, run.first->kind), run.look == Look::trigger ? " (trigger)" : ""});
    if (run.count == 1) {
      if (const std::string o = names_.operands(run.first->site); !o.empty()) add(title, {" ", o});
      if (const std::string at = names_.place(run.first->site); !at.empty()) add(title, {", ", at});
    }
    add(title, {", ", us(run.first->start), " to ", us(run.end), " us"});
    box(run.x0, y, w - gap, h, fill_of(run.look), title);
  }

  void waits() {
    std::array<double, row_count> drawn{};
    for (const Bar& b : bars_.bars)
      for (std::uint32_t w = b.first_wait; w < b.first_wait + b.waits; ++w) {
        const BarWait& wait = bars_.waits[w];
        const auto row = static_cast<std::size_t>(b.row);
        const double x0 = std::max(x_of(wait.from), drawn[row]), x1 = std::min(x_of(wait.until), x_of(b.start));
        if (x1 - x0 < 0.7) continue;
        drawn[row] = x1;
        box(x0, y_[row] + lane_height(row) / 2 - 3, x1 - x0, 6, fill_of(wait.cause),
            concat({"waits ", microseconds(wait.until - wait.from, r_.ticks_per_ns), " us for ",
                    cause_sentences[static_cast<std::size_t>(wait.cause)]}));
      }
  }

  void legend() {
    std::array<bool, look_count> used{};
    std::array<bool, machine::cause_count> waited{};
    for (const Bar& b : bars_.bars) {
      used[static_cast<std::size_t>(names_.look(b.site, b.kind, b.row))] = true;
      for (std::uint32_t w = b.first_wait; w < b.first_wait + b.waits; ++w)
        if (bars_.waits[w].until > bars_.waits[w].from) waited[static_cast<std::size_t>(bars_.waits[w].cause)] = true;
    }
    constexpr std::array<const char*, look_count> words{
        "matmul", "transpose", "engine operation", "DMA trigger", "load", "store", "copy", "other"};
    constexpr std::array<const char*, machine::cause_count> wait_words{
        "waits for a result", "waits for a load", "waits for a slot", "waits for a store", "waits"};
    double x = left;
    const double y = plot_end_ + 20;
    const auto entry = [&](std::string_view fill, double h, std::string_view word) {
      box(x, y + (14 - h) / 2, 20, h, fill);
      label(x + 26, y + 11, word, R"(fill="#24292f")");
      x += 44 + 6.4 * static_cast<double>(word.size());
    };
    for (std::size_t l = 0; l < look_count; ++l)
      if (used[l]) entry(fill_of(static_cast<Look>(l)), 14, words[l]);
    for (std::size_t c = 0; c < machine::cause_count; ++c)
      if (waited[c]) entry(fill_of(static_cast<machine::Cause>(c)), 6, wait_words[c]);
  }

  const ir::Program& p_;
  const sim::Result& r_;
  const sim::Timeline& t_;
  const TimelineText& text_;
  EventNames names_;
  Bars bars_;
  std::int64_t begin_ = 0, end_ = 1;
  std::array<int, row_count> y_{}, bottom_{};
  int top_ = 0, plot_end_ = 0, height_ = 0;
  std::string out_;
};

}  // namespace detail

/// A picture of a timeline, 1200 wide: a row for each engine and DMA queue, waits hatched, colours and patterns that do
/// not depend on colour vision. It needs nothing from outside and has a title and a description in words.
inline std::string timeline_svg(const ir::Program& p, const sim::Result& r, const sim::Timeline& t,
                                const TimelineText& text = {}) {
  return detail::SvgWriter(p, r, t, text).write();
}

}  // namespace nki::inline v0_1::emit
