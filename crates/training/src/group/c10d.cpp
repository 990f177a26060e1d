// What Valleyscope needs of libtorch's c10d, as functions with C linkage: a store, and groups of processes over Gloo
// and, where libtorch is one for CUDA (USE_C10D_NCCL), over NCCL.
//
// Each function that can fail returns a message, to be freed by `valleyscope_text_free`, or null. No exception leaves
// this file.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace {

using std::chrono::milliseconds;

// When c10d itself gives up an operation, where nothing else has ended the process.
constexpr milliseconds LONGEST = std::chrono::hours(24);

struct Store {
  c10::intrusive_ptr<c10d::Store> store;
};

struct Group {
  c10::intrusive_ptr<c10d::Backend> backend;
  // Whether its operations go on while a stream of the device is waited for.
  bool is_on_device;
};

struct Work {
  c10::intrusive_ptr<c10d::Work> work;
  bool is_on_device;
};

char* copied(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) {
    std::memcpy(copy, text.c_str(), text.size() + 1);
  }
  return copy;
}

// Does the work; returns the message of what it throws.
template <typename F>
char* guarded(F&& work) {
  try {
    work();
    return nullptr;
  } catch (const c10::Error& error) {
    return copied(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return copied(error.what());
  } catch (...) {
    return copied("unknown error");
  }
}

} // namespace

extern "C" {

void valleyscope_text_free(char* text) {
  std::free(text);
}

// A client of the store at an address. Where `listener` is the descriptor of a socket that listens there, and not −1,
// this process serves the store, too, and takes the socket over. All keys get the prefix.
char* valleyscope_store_open(
    const char* host, uint16_t port, int listener, const char* prefix, int64_t timeout_ms, Store** out) {
  return guarded([&] {
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = listener >= 0;
    options.waitWorkers = false;
    options.timeout = milliseconds(timeout_ms);
    if (listener >= 0) {
      options.masterListenFd = listener;
    }
    auto store = c10::make_intrusive<c10d::TCPStore>(host, options);
    *out = new Store{c10::make_intrusive<c10d::PrefixStore>(prefix, std::move(store))};
  });
}

void valleyscope_store_free(Store* store) {
  delete store;
}

char* valleyscope_store_set(Store* store, const char* key, const char* value) {
  return guarded([&] { store->store->set(key, std::string(value)); });
}

// The value of a key, to be freed; null where there is none.
char* valleyscope_store_get(Store* store, const char* key, char** value) {
  return guarded([&] {
    *value = nullptr;
    if (store->store->check({key})) {
      *value = copied(store->store->get_to_str(key));
    }
  });
}

// A group whose processes meet in the store. `interface` is the name of a network interface, or null for the address
// `host`.
char* valleyscope_group_join(
    Store* store, int rank, int size, const char* host, const char* interface, int64_t timeout_ms, Group** out) {
  return guarded([&] {
    auto options = c10d::ProcessGroupGloo::Options::create(milliseconds(timeout_ms));
    options->devices.push_back(
        interface != nullptr ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                             : c10d::ProcessGroupGloo::createDeviceForHostname(host));
    *out = new Group{c10::make_intrusive<c10d::ProcessGroupGloo>(store->store, rank, size, options), false};
  });
}

// Whether libtorch has NCCL.
bool valleyscope_has_nccl() {
#ifdef USE_C10D_NCCL
  return true;
#else
  return false;
#endif
}

// A group over NCCL, for tensors on the device with this number, whose processes meet in the store.
char* valleyscope_group_join_nccl(Store* store, int rank, int size, int device, Group** out) {
  return guarded([&] {
#ifdef USE_C10D_NCCL
    // A watchdog of c10d's would end the process before it can say which other process was lost.
    setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
    setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 0);
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = LONGEST;
    auto own = c10::make_intrusive<c10d::PrefixStore>("nccl", store->store);
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(own), rank, size, options);
    group->eagerConnectSingleDevice(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));
    *out = new Group{std::move(group), true};
#else
    throw std::runtime_error("this worker was built without NCCL");
#endif
  });
}

// Ends the operations of a group that is not used any more: one over NCCL would keep the device busy.
char* valleyscope_group_abort(Group* group) {
  return guarded([&] { group->backend->abort(); });
}

// Begins to replace a tensor by its sum over all processes.
char* valleyscope_group_sum(Group* group, at::Tensor* tensor, Work** out) {
  return guarded([&] {
    std::vector<at::Tensor> tensors{*tensor};
    c10d::AllreduceOptions options;
    options.timeout = LONGEST;
    *out = new Work{group->backend->allreduce(tensors, options), group->is_on_device};
  });
}

// Begins to replace a tensor by that of one process.
char* valleyscope_group_send(Group* group, at::Tensor* tensor, int from, Work** out) {
  return guarded([&] {
    std::vector<at::Tensor> tensors{*tensor};
    c10d::BroadcastOptions options;
    options.rootRank = from;
    options.timeout = LONGEST;
    *out = new Work{group->backend->broadcast(tensors, options), group->is_on_device};
  });
}

// Begins to fill a tensor of process 0 with the parts of all processes, equally long, in the order of their ranks. For
// the others `whole` is not used.
char* valleyscope_group_gather_to_first(Group* group, int rank, int size, at::Tensor* whole, at::Tensor* part, Work** out) {
  return guarded([&] {
    std::vector<std::vector<at::Tensor>> parts;
    if (rank == 0) {
      parts.push_back(whole->chunk(size));
    }
    std::vector<at::Tensor> own{*part};
    c10d::GatherOptions options;
    options.rootRank = 0;
    options.timeout = LONGEST;
    *out = new Work{group->backend->gather(parts, own, options), group->is_on_device};
  });
}

// Waits for an operation for a time at most; sets whether it has ended.
char* valleyscope_work_wait(Work* work, int64_t timeout_ms, bool* ended) {
  *ended = false;
  if (work->is_on_device) {
    // A wait of c10d's that takes too long would end the group.
    const auto last = std::chrono::steady_clock::now() + milliseconds(timeout_ms);
    return guarded([&] {
      while (!work->work->isCompleted()) {
        if (std::chrono::steady_clock::now() > last) {
          return;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      // Throws what has gone wrong.
      work->work->wait();
      *ended = true;
    });
  }
  char* error = guarded([&] {
    work->work->wait(milliseconds(timeout_ms));
    *ended = true;
  });
  if (error == nullptr) {
    return nullptr;
  }
  // A wait that takes too long throws, too; the operation may have ended since.
  std::free(error);
  *ended = work->work->isCompleted();
  return *ended ? guarded([&] { work->work->wait(); }) : nullptr;
}

void valleyscope_work_free(Work* work) {
  delete work;
}
}
