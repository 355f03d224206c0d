// Builds the model of the process, asks it once for each change, and once for all of them together.
#include "analyze/whatif_run.h"

#include "analyze/graph/build.h"
#include "analyze/process_analysis.h"

namespace turnpike::analyze {

Result<WhatIfAnswer> what_if(const trace::Process& process, const Timeline& timeline,
                             const std::vector<AskedChange>& changes, const LinkRates& rates) {
  RunSums sums;
  ProcessAnalysis analysis(sums, process, timeline);
  const ProcessModel model = analysis.model(analysis.steps(), rates);
  if (model.graph().calls.empty()) return Error{process.path + " holds no calls of CUDA: there is nothing to change."};
  WhatIfAnswer answer;
  answer.step_count = model.step_count();
  answer.measured_step_ns = model.measured_step_ns();
  answer.retimed_step_ns = model.retimed_step_ns();
  answer.contradicted_count = model.graph().contradicted_count;
  const Graph typical = build_graph(process, timeline, choose_stretch(timeline, model.steps()), Lags::kTypical);
  if (const auto times_ns = retime(typical)) answer.typical_step_ns = step_ns(typical, *times_ns);
  std::vector<NamedChange> named;
  for (const AskedChange& asked : changes) {
    named.push_back({asked.change, calls_at(model, asked.site)});
    Graph graph = model.graph();
    answer.changed.push_back(apply(model, graph, asked.change, named.back().calls).value_or(0));
  }
  answer.predicted_step_ns = predict_step_ns(model, named);
  return answer;
}

}  // namespace turnpike::analyze
