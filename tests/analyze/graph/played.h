// A program in steps with what the analysis makes of it, to be asked what changes would gain.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/graph/build.h"
#include "analyze/rules/step_program.h"
#include "analyze/sums/process_analysis.h"
#include "analyze/whatif/scenario.h"

namespace turnpike::analyze {

// Over a link of 50 GB/s.
class Played {
 public:
  explicit Played(StepProgram program, double link_gbps = 50, std::optional<double> d2h_cached_gbps = std::nullopt)
      : Played(program.builder().take(), link_gbps, d2h_cached_gbps) {}
  explicit Played(LoadedProcess loaded, double link_gbps = 50, std::optional<double> d2h_cached_gbps = std::nullopt)
      : loaded_(std::move(loaded)), analysis_(sums_, loaded_.process, loaded_.timeline) {
    auto steps = analysis_.steps();
    model_.emplace(
        analysis_.model(std::move(steps), link_gbps > 0 ? link_of(link_gbps, d2h_cached_gbps) : LinkRates()));
  }

  const ProcessModel& model() const { return *model_; }
  double measured_us() const { return model_->measured_step_ns() / 1000; }
  // With these changes at a line, or wherever they can be made. -1: not known.
  double predicted_us(const std::vector<Change>& changes, const std::string& site = "") const {
    std::vector<NamedChange> named;
    for (const Change change : changes) named.push_back({change, calls_at(*model_, site)});
    const auto prediction = predict(*model_, named);
    return prediction ? prediction->predicted_ns / 1000 : -1;
  }
  Graph typical() const {
    return build_graph(loaded_.process, loaded_.timeline, choose_stretch(loaded_.timeline, model_->steps()),
                       Lags::kTypical);
  }

 private:
  LoadedProcess loaded_;
  RunSums sums_;
  ProcessAnalysis analysis_;
  std::optional<ProcessModel> model_;
};

}  // namespace turnpike::analyze
