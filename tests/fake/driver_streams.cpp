// Streams, events and graphs of the fake driver API.
#include <cuda.h>
#include <cupti.h>

#include <memory>

#include "driver_call.h"

namespace turnpike::fake {
extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  const cuStreamCreate_params params{stream, flags};
  return FAKE_CALL(cuStreamCreate, params, [&] {
    auto made = std::make_unique<CUstream_st>();
    made->id = static_cast<std::uint32_t>(next_id());
    made->device = fake_cuda_device();
    *stream = made.release();
    add_stream(*stream);
    if (const Observer* told = observer()) {
      CUpti_ResourceData data{};
      data.context = context_of(fake_cuda_device());
      data.resourceHandle.stream = *stream;
      told->resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, data);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  const cuStreamDestroy_v2_params params{stream};
  return FAKE_CALL(cuStreamDestroy_v2, params, [&] {
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    remove_stream(stream);
    delete stream;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  const cuStreamSynchronize_params params{stream};
  return FAKE_CALL(cuStreamSynchronize, params, [&] {
    wait_for_stream(resolve(stream));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamQuery(CUstream stream) {
  const cuStreamQuery_params params{stream};
  return FAKE_CALL(cuStreamQuery, params, [&] {
    CUstream asked = resolve(stream);
    const std::lock_guard lock(asked->mutex);
    return now_ns() < asked->tail_ns ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  const cuStreamWaitEvent_params params{stream, event, flags};
  return FAKE_CALL(cuStreamWaitEvent, params, [&] {
    CUstream waiting = resolve(stream);
    const std::lock_guard lock(waiting->mutex);
    if (waiting->tail_ns < event->time_ns) waiting->tail_ns = event->time_ns;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  const cuEventCreate_params params{event, flags};
  return FAKE_CALL(cuEventCreate, params, [&] {
    *event = new CUevent_st;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  const cuEventDestroy_v2_params params{event};
  return FAKE_CALL(cuEventDestroy_v2, params, [&] {
    delete event;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  const cuEventRecord_params params{event, stream};
  return FAKE_CALL(cuEventRecord, params, [&] {
    CUstream recorded = resolve(stream);
    const std::lock_guard lock(recorded->mutex);
    event->time_ns = recorded->tail_ns;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  const cuCtxRecordEvent_params params{context, event};
  return FAKE_CALL(cuCtxRecordEvent, params, [&] {
    event->time_ns = tail_of_device(context->device);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  const cuEventSynchronize_params params{event};
  return FAKE_CALL(cuEventSynchronize, params, [&] {
    wait_until(event->time_ns);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventQuery(CUevent event) {
  const cuEventQuery_params params{event};
  return FAKE_CALL(cuEventQuery, params,
                   [&] { return now_ns() < event->time_ns ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; });
}

// By its old name: cuda.h makes the plain one a macro for _v2.
CUresult elapsed_time(float* milliseconds, CUevent start, CUevent end) __asm__("cuEventElapsedTime");
CUresult elapsed_time(float* milliseconds, CUevent start, CUevent end) {
  *milliseconds = static_cast<float>(end->time_ns - start->time_ns) / 1e6f;
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  const cuStreamBeginCapture_v2_params params{stream, mode};
  return FAKE_CALL(cuStreamBeginCapture_v2, params, [&] {
    const std::lock_guard lock(stream->mutex);
    stream->capturing = std::make_unique<CUgraph_st>();
    stream->capturing->id = static_cast<std::uint32_t>(next_id());
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const cuStreamIsCapturing_params params{stream, status};
  return FAKE_CALL(cuStreamIsCapturing, params, [&] {
    CUstream asked = resolve(stream);
    const std::lock_guard lock(asked->mutex);
    *status = asked->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const cuStreamEndCapture_params params{stream, graph};
  return FAKE_CALL(cuStreamEndCapture, params, [&] {
    const std::lock_guard lock(stream->mutex);
    if (!stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    *graph = stream->capturing.release();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  const cuGraphInstantiateWithFlags_params params{exec, graph, flags};
  return FAKE_CALL(cuGraphInstantiateWithFlags, params, [&] {
    auto made = std::make_unique<CUgraphExec_st>();
    made->graph.id = static_cast<std::uint32_t>(next_id());
    for (const auto& node : graph->nodes) {
      made->graph.nodes.push_back(
          std::make_unique<CUgraphNode_st>(CUgraphNode_st{next_id(), node->work, node->dst, node->src}));
      tell_graph_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &made->graph, made->graph.nodes.back().get(), node.get());
    }
    *exec = made.release();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const cuGraphLaunch_params params{exec, stream};
  return FAKE_CALL(cuGraphLaunch, params, [&] {
    for (const auto& node : exec->graph.nodes) {
      DeviceWork work = node->work;
      work.graph = exec->graph.id;
      work.graph_node = node->id;
      submit(resolve(stream), work, node->dst, node->src);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const cuGraphExecDestroy_params params{exec};
  return FAKE_CALL(cuGraphExecDestroy, params, [&] {
    delete exec;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  const cuGraphDestroy_params params{graph};
  return FAKE_CALL(cuGraphDestroy, params, [&] {
    delete graph;
    return CUDA_SUCCESS;
  });
}
}

}  // namespace turnpike::fake
