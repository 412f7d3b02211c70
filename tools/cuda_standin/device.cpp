// A CUDA device for PyTorch's CPU build. Tensors on cuda:i are real PyTorch tensors whose memory is the host's; their
// operations run in the CPU's kernels. Modelled: the caching allocator's counters and refusals, device checks, streams
// that are late after _sleep, events, pinned memory, graphs. Large operations are not computed: their results are zeros.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>

namespace {
using c10::Device, c10::DeviceIndex, c10::IValue, c10::Stream, at::Tensor;
using Seconds = std::chrono::duration<double>;
using Key = std::pair<DeviceIndex, int64_t>;  // device and stream
constexpr auto CUDA = c10::DeviceType::CUDA;
constexpr int64_t MIB = 1 << 20, LARGE_NUMEL = 1 << 22, LARGE_WORK = 150'000'000;
constexpr int MAX_DEVICES = 16;

int devices = 1;
int64_t total_memory = int64_t(80) << 30;
bool broken = false;  // the device multiplies wrongly
int sync_debug = 0;  // 1: warn, 2: error
thread_local DeviceIndex current = 0;
thread_local std::array<int64_t, MAX_DEVICES> current_stream{};
std::recursive_mutex lock;

void check(DeviceIndex i) {
  if (i >= 0 && i < devices) return;
  throw c10::AcceleratorError(
      {__func__, __FILE__, __LINE__}, 101,
      "CUDA error: invalid device ordinal\nSearch for `cudaErrorInvalidDevice' in https://docs.nvidia.com/cuda/"
      "cuda-runtime-api/group__CUDART__TYPES.html for more information.\nCUDA kernel errors might be asynchronously "
      "reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing "
      "CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n");
}

// --- streams: work is carried out at once, except behind _sleep, where it waits until somebody waits for it ---------
struct Work { std::function<void()> run; };
struct Event { Key stream; size_t end = 0; std::chrono::steady_clock::time_point moment; };
struct Queue { std::deque<Work> held; size_t done = 0; bool sleeps = false; };  // `done` counts work ever begun
std::map<Key, Queue> queues;
struct Graph { std::vector<std::function<void()>> steps; };
std::map<int64_t, Graph> graphs;
thread_local int64_t capturing = -1;

Key here() { return {current, current_stream[current]}; }
bool sleeps(Key key, bool from_now_on = false) {
  std::unique_lock hold(lock);
  return queues[key].sleeps |= from_now_on;
}
void release_late_blocks();
void run_until(Key key, size_t end) {
  std::unique_lock hold(lock);
  auto& queue = queues[key];
  while (!queue.held.empty() && queue.done < end) {
    auto work = std::move(queue.held.front());
    queue.held.pop_front();
    ++queue.done;
    work.run();
  }
  if (queue.held.empty()) queue.sleeps = false;
  release_late_blocks();
}
void finish(Key key) { run_until(key, SIZE_MAX); }
void finish_device(DeviceIndex i) {
  std::vector<Key> keys;
  { std::unique_lock hold(lock); for (auto& [key, queue] : queues) if (key.first == i) keys.push_back(key); }
  for (auto key : keys) finish(key);
}
void host_waits() {  // what cudaStreamSynchronize does inside of an operation
  TORCH_CHECK(capturing < 0, "CUDA error: operation not permitted when stream is capturing");
  if (sync_debug == 1) TORCH_WARN("called a synchronizing CUDA operation");
  TORCH_CHECK(sync_debug != 2, "called a synchronizing CUDA operation");
  finish(here());
}

// --- memory ----------------------------------------------------------------------------------------------------------
struct Block { void* at; int64_t size, asked; Key stream; std::set<Key> users; };
struct Account { int64_t allocated = 0, peak = 0, asked = 0, asked_peak = 0, cached_peak = 0, refused = 0; double share = 1; };
std::array<Account, MAX_DEVICES> accounts;
std::map<void*, Block> blocks;
std::multimap<std::pair<Key, int64_t>, void*> cache;
std::vector<Block> late;
std::vector<int64_t> freed;  // addresses, for the detector of races

int64_t up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
int64_t segment(int64_t small, int64_t medium, int64_t large) { return up(small, 2 * MIB) + up(medium, 20 * MIB) + large; }
int64_t reserved(DeviceIndex i, int64_t extra = 0) {
  int64_t small = 0, medium = 0, large = 0;
  auto add = [&](int64_t n) { (n <= MIB ? small : n < 10 * MIB ? medium : large) += n < 10 * MIB ? n : up(n, 2 * MIB); };
  for (auto& [at, block] : blocks) if (block.stream.first == i) add(block.size);
  for (auto& block : late) if (block.stream.first == i) add(block.size);
  for (auto& [key, at] : cache) if (key.first.first == i) add(key.second);
  if (extra) add(extra);
  return segment(small, medium, large);
}
void give_back(const Block& block) {  // a large one is zeros again, since what is not computed stays as it was
 
  if (block.size >= 8 * MIB) madvise(block.at, block.size, MADV_DONTNEED);
  cache.emplace(std::pair{block.stream, block.size}, block.at);
}
void release_late_blocks() {
  for (size_t i = late.size(); i-- > 0;) {
    bool busy = false;
    for (auto& user : late[i].users) busy |= queues[user].sleeps;
    if (busy) continue;
    give_back(late[i]);
    late.erase(late.begin() + i);
  }
}
void empty_cache(DeviceIndex i) {
  std::unique_lock hold(lock);
  for (auto& [key, queue] : queues) if (queue.sleeps) return;  // held work may still read what was freed
  for (auto entry = cache.begin(); entry != cache.end();) {
    if (entry->first.first.first != i) { ++entry; continue; }
    munmap(entry->second, up(entry->first.second, 4096));
    entry = cache.erase(entry);
  }
}
void deallocate(void* at) {
  if (!at) return;
  std::unique_lock hold(lock);
  auto found = blocks.find(at);
  if (found == blocks.end()) return;
  Block block = found->second;
  blocks.erase(found);
  auto& account = accounts[block.stream.first];
  account.allocated -= block.size, account.asked -= block.asked;
  if (freed.size() < 1'000'000) freed.push_back(reinterpret_cast<int64_t>(at));
  block.users.erase(block.stream);
  bool busy = false;
  for (auto& user : block.users) busy |= queues[user].sleeps;
  busy ? late.push_back(block) : give_back(block);
}
struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    Device device(CUDA, current);
    if (n == 0) return {nullptr, nullptr, &deallocate, device};
    std::unique_lock hold(lock);
    auto& account = accounts[current];
    int64_t size = up(n, 512);
    auto free = cache.find({here(), size});
    void* at = nullptr;
    if (free != cache.end()) {
      at = free->second;
      cache.erase(free);
    } else {
      auto limit = int64_t(total_memory * account.share);
      if (reserved(current, size) > limit) empty_cache(current);
      if (reserved(current, size) > limit) refuse(size, limit);
      at = mmap(nullptr, up(size, 4096), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      TORCH_CHECK(at != MAP_FAILED, "the host has no room for the stand-in's memory");
    }
    blocks[at] = {at, size, int64_t(n), here(), {}};
    account.peak = std::max(account.peak, account.allocated += size);
    account.asked_peak = std::max(account.asked_peak, account.asked += n);
    account.cached_peak = std::max(account.cached_peak, reserved(current));
    return {at, at, &deallocate, device};
  }
  static std::string shown(int64_t n) {
    std::ostringstream text;
    text.precision(2);
    if (n <= 1024) text << n << " bytes";
    else if (n <= MIB) text << std::fixed << n / 1024.0 << " KiB";
    else if (n <= 1024 * MIB) text << std::fixed << n / double(MIB) << " MiB";
    else text << std::fixed << n / double(1024 * MIB) << " GiB";
    return text.str();
  }
  [[noreturn]] static void refuse(int64_t size, int64_t limit) {
    auto& account = accounts[current];
    ++account.refused;
    auto mine = reserved(current);
    std::ostringstream text;
    text << "CUDA out of memory. Tried to allocate " << shown(size) << ". GPU " << int(current) << " has a total capacity of "
         << shown(total_memory) << " of which " << shown(total_memory - mine) << " is free. Including non-PyTorch memory, this "
         << "process has " << shown(mine) << " memory in use. ";
    if (account.share < 1) text << shown(limit) << " allowed; ";
    text << "Of the allocated memory " << shown(account.allocated) << " is allocated by PyTorch, and "
         << shown(mine - account.allocated) << " is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
         << "large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for "
         << "Memory Management  (https://docs.pytorch.org/docs/stable/notes/cuda.html#environment-variables)";
    throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, text.str());
  }
  c10::DeleterFnPtr raw_deleter() const override { return &deallocate; }
  void copy_data(void* to, const void* from, std::size_t n) const override { std::memcpy(to, from, n); }
} allocator;

std::map<void*, size_t> pinned;
void unpin(void* at) {
  { std::unique_lock hold(lock); pinned.erase(at); }
  free(at);
}
struct Pinned final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    void* at = n ? aligned_alloc(512, up(n, 512)) : nullptr;
    std::unique_lock hold(lock);
    if (at) pinned[at] = n;
    return {at, at, &unpin, c10::DeviceType::CPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &unpin; }
  void copy_data(void* to, const void* from, std::size_t n) const override { std::memcpy(to, from, n); }
} pinned_allocator;
bool is_pinned(const void* at) {
  std::unique_lock hold(lock);
  auto after = pinned.upper_bound(const_cast<void*>(at));
  return after != pinned.begin() && (--after, at < static_cast<char*>(after->first) + after->second);
}

// --- what PyTorch asks a backend for ---------------------------------------------------------------------------------
std::array<at::Generator, MAX_DEVICES> generators;
struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const override { return devices; }
  int getNumGPUs() const override { return devices; }
  DeviceIndex current_device() const override { return current; }
  DeviceIndex getCurrentDevice() const override { return current; }
  void setCurrentDevice(DeviceIndex i) const override { check(i), current = i; }
  DeviceIndex exchangeDevice(DeviceIndex i) const override { check(i); return std::exchange(current, i); }
  DeviceIndex maybeExchangeDevice(DeviceIndex i) const override { check(i); return std::exchange(current, i); }
  bool isPinnedPtr(const void* at) const override { return is_pinned(at); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  c10::Allocator* getCUDADeviceAllocator() const override { return &allocator; }
  Device getDeviceFromPtr(void*) const override { return {CUDA, current}; }
  const at::Generator& getDefaultGenerator(DeviceIndex i) const override { return generators[i < 0 ? current : i]; }
  void deviceSynchronize(DeviceIndex i) const override { finish_device(i); }
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return CUDA; }
  Device exchangeDevice(Device d) const override { check(d.index()); return {CUDA, std::exchange(current, d.index())}; }
  Device getDevice() const override { return {CUDA, current}; }
  void setDevice(Device d) const override { check(d.index()), current = d.index(); }
  void uncheckedSetDevice(Device d) const noexcept override { if (d.index() >= 0 && d.index() < devices) current = d.index(); }
  DeviceIndex deviceCount() const noexcept override { return devices; }
  Stream getStream(Device d) const override {
    auto i = d.index() < 0 ? current : d.index();
    return Stream(Stream::UNSAFE, Device(CUDA, i), current_stream[i]);
  }
  Stream getDefaultStream(Device d) const override { return Stream(Stream::DEFAULT, d); }
  Stream getStreamFromGlobalPool(Device d, bool) const override { return getNewStream(d, 0); }
  Stream getNewStream(Device d, int) const override {
    static std::atomic<int64_t> last{0};
    return Stream(Stream::UNSAFE, Device(CUDA, d.index() < 0 ? current : d.index()), ++last);
  }
  void* getStreamNativeHandle(const Stream s) const override { return reinterpret_cast<void*>(s.id()); }
  Stream exchangeStream(Stream s) const override {
    auto before = getStream(s.device());
    current_stream[s.device_index()] = s.id();
    return before;
  }
  static Key key(const Stream& s) { return {s.device_index(), s.id()}; }
  void record(void** event, const Stream& s, const DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new Event;
    std::unique_lock hold(lock);
    auto& queue = queues[key(s)];
    *static_cast<Event*>(*event) = {key(s), queue.done + queue.held.size(), std::chrono::steady_clock::now()};
  }
  static void reach(void* event) { if (auto* e = static_cast<Event*>(event)) run_until(e->stream, e->end); }
  void block(void* event, const Stream&) const override { reach(event); }  // waited for at once: the order is the same
  bool queryEvent(void* event) const override {
    auto* e = static_cast<Event*>(event);
    std::unique_lock hold(lock);
    return !e || queues[e->stream].held.empty() || queues[e->stream].done >= e->end;
  }
  void synchronizeEvent(void* event) const override { reach(event); }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  bool queryStream(const Stream& s) const override { std::unique_lock hold(lock); return queues[key(s)].held.empty(); }
  void synchronizeStream(const Stream& s) const override { finish(key(s)); }
  bool isStreamCapturing(const Stream&) const override { return capturing >= 0; }
  void synchronizeDevice(const DeviceIndex i) const override { finish_device(i < 0 ? current : i); }
  void recordDataPtrOnStream(const c10::DataPtr& data, const Stream& s) const override {
    std::unique_lock hold(lock);
    auto found = blocks.find(data.get());
    if (found != blocks.end()) found->second.users.insert(key(s));
  }
  double elapsedTime(void* a, void* b, const DeviceIndex) const override {
    auto *from = static_cast<Event*>(a), *to = static_cast<Event*>(b);
    return 1000 * Seconds(to->moment - from->moment).count();
  }
};

// --- operations ------------------------------------------------------------------------------------------------------
Tensor alias_on_cpu(const Tensor& t) {  // the same memory, without keeping it alive
  auto options = t.options().device(c10::kCPU).requires_grad(false);
  if (t.numel() == 0) return at::empty_strided(t.sizes(), t.strides(), options);
  return at::for_blob(t.data_ptr(), t.sizes()).strides(t.strides()).options(options).make_tensor();
}
Tensor room_for(const Tensor& t, DeviceIndex i) {
  return at::empty_strided(t.sizes(), t.strides(), t.options().device(Device(CUDA, i)).requires_grad(false));
}
template <typename F>
IValue changed(const IValue& value, F f) {
  if (value.isTensor()) return f(value.toTensor());
  if (value.isTensorList()) {
    c10::List<Tensor> out;
    for (const Tensor& t : value.toTensorVector()) out.push_back(f(t));
    return out;
  }
  if (value.isList()) {  // of optional tensors
    auto list = value.toList();
    if (list.elementType()->kind() == c10::OptionalType::Kind &&
        list.elementType()->expect<c10::OptionalType>()->getElementType()->kind() == c10::TensorType::Kind) {
      c10::List<std::optional<Tensor>> out;
      for (size_t i = 0; i < list.size(); ++i) {
        IValue item = list.get(i);
        out.push_back(item.isNone() ? std::optional<Tensor>() : std::optional<Tensor>(f(item.toTensor())));
      }
      return out;
    }
  }
  return value;
}
bool on_gpu(const Tensor& t) { return t.defined() && t.is_cuda(); }
const std::set<std::string> MIXED = {"aten::copy_", "aten::index", "aten::index_put_", "aten::_index_put_impl_",
                                     "aten::_unsafe_index", "aten::_unsafe_index_put"};
void check_devices(const c10::OperatorHandle& op, const std::vector<IValue>& arguments) {
  auto& schema = op.schema();
  if (MIXED.count(schema.name())) return;
  // floor_divide lacks the tag, and is computed as the others are.
  bool pointwise = op.hasTag(at::Tag::pointwise) || schema.name() == "aten::floor_divide";
  std::optional<Device> first;
  for (size_t i = 0; i < arguments.size(); ++i) {
    changed(arguments[i], [&](const Tensor& t) {
      if (!t.defined() || (t.dim() == 0 && t.is_cpu() && pointwise)) return t;
      if (!first) first = t.device();
      if (*first == t.device()) return t;
      if (pointwise)
        TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
                    first->is_cuda() ? *first : t.device(), " and ", first->is_cuda() ? t.device() : *first, "!");
      auto name = schema.name().substr(6);
      TORCH_CHECK(false, "Expected all tensors to be on the same device, but got ", schema.arguments()[i].name(), " is on ",
                  t.device(), ", different from other tensors on ", *first, " (when checking argument in method wrapper_CUDA_",
                  name, ")");
      return t;
    });
  }
}
void look_at_indices(const std::string& name, const std::vector<IValue>& arguments) {
  if (!MIXED.count(name) || name == "aten::copy_") return;
  auto& self = arguments[0].toTensor();
  bool waits = false;
  changed(arguments[1], [&](const Tensor& t) {
    if (!t.defined()) return t;
    TORCH_CHECK(t.is_cpu() || t.device() == self.device(), "indices should be either on ", c10::kCPU,
                " or on the same device as the indexed tensor (", self.device(), ")");
    bool mask = t.scalar_type() == at::kBool || t.scalar_type() == at::kByte;
    waits |= t.is_cpu() || (mask && name.find("put") == std::string::npos);  // it is copied, or its size is a value
    return t;
  });
  if (waits && self.is_cuda()) host_waits();
}
void (*tell_tf32)() = nullptr;  // called for each float32 product that would be one of TF32
void look_at_precision(const std::string& name, const std::vector<IValue>& arguments) {
  if (!tell_tf32 || (name != "aten::mm" && name != "aten::addmm" && name != "aten::bmm" && name != "aten::mv")) return;
  if (!arguments[0].isTensor() || arguments[0].toTensor().scalar_type() != at::kFloat) return;
  auto precision = at::globalContext().float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL);
  if (precision == at::Float32Precision::TF32) tell_tf32();
}
bool is_large(const std::string& name, const std::vector<IValue>& arguments) {
  int64_t most = 0, work = 0;
  std::vector<Tensor> tensors;
  for (auto& value : arguments)
    changed(value, [&](const Tensor& t) { if (t.defined()) most = std::max(most, t.numel()), tensors.push_back(t); return t; });
  auto product = [&](size_t a) { return tensors.size() > a + 1 ? 2 * tensors[a].numel() * tensors[a + 1].size(-1) : 0; };
  if (name == "aten::mm" || name == "aten::bmm") work = product(0);
  if (name == "aten::addmm" || name == "aten::baddbmm") work = product(1);
  if (name.rfind("aten::convolution", 0) == 0) {
    size_t at = name == "aten::convolution" ? 0 : 1;
    auto& w = tensors[at + 1];
    work = 2 * tensors[at].numel() * (w.numel() / std::max<int64_t>(1, w.size(1)));
  }
  return most > LARGE_NUMEL || work > LARGE_WORK;
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto& schema = op.schema();
  auto name = schema.name();
  size_t n = schema.arguments().size();
  std::vector<IValue> given(stack->end() - n, stack->end());
  torch::jit::drop(*stack, n);
  check_devices(op, given);
  look_at_indices(name, given);
  look_at_precision(name, given);

  DeviceIndex device = current;
  bool found = false;
  for (auto& value : given)
    changed(value, [&](const Tensor& t) { if (!found && on_gpu(t)) found = true, device = t.device().index(); return t; });
  for (auto& value : given)
    if (value.isDevice() && value.toDevice().is_cuda() && value.toDevice().has_index() && !found) device = value.toDevice().index();
  auto before = std::exchange(current, device);
  struct Restore { DeviceIndex& i; DeviceIndex old; ~Restore() { i = old; } } restore{current, before};

  bool copies = name == "aten::copy_";
  bool late = sleeps(here());
  if (copies) {
    auto &to = given[0].toTensor(), &from = given[1].toTensor();
    auto& host = to.is_cuda() ? from : to;
    bool free = given[2].toBool() && (!host.is_cpu() || is_pinned(host.data_ptr()));
    if (to.is_cuda() != from.is_cuda() && !given[2].toBool()) host_waits();
    else if (!free && to.is_cuda() != from.is_cuda()) finish(here());
    else if (to.is_cuda() && from.is_cuda() && to.device() != from.device()) finish({from.device().index(), current_stream[from.device().index()]});
    late = late && (free || to.device() == from.device());
    // A copy that nobody waits for, in a stream of its own, is as late as it can be.
    if (free && to.is_cuda() != from.is_cuda() && here().second != 0 && capturing < 0) late = sleeps(here(), true);
  } else if (name == "aten::_local_scalar_dense" || name == "aten::nonzero" || name == "aten::masked_select" || name == "aten::equal") {
    host_waits();
  }

  bool large = is_large(name, given);
  std::vector<IValue> arguments;
  for (size_t i = 0; i < n; ++i) {
    auto value = changed(given[i], [&](const Tensor& t) { return on_gpu(t) ? alias_on_cpu(t) : t; });
    auto type = schema.arguments()[i].type();
    if (value.isDevice() && value.toDevice().is_cuda()) value = Device(c10::kCPU);
    if (value.isNone() && type->kind() == c10::OptionalType::Kind &&
        type->expect<c10::OptionalType>()->getElementType()->kind() == c10::GeneratorType::Kind)
      value = generators[device];
    arguments.push_back(value);
  }
  auto call = [op, arguments] {
    at::AutoDispatchBelowADInplaceOrView below;
    torch::jit::Stack own(arguments.begin(), arguments.end());
    try {
      op.callBoxed(&own);
    } catch (const c10::IndexError&) {
      if (op.schema().name().find("nll_loss") == std::string::npos) throw;
      throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 710, "CUDA error: device-side assert triggered");
    }
    return own;
  };
  bool writes = schema.returns().size() > 0;
  std::vector<std::optional<size_t>> written;  // for each result, which argument it is
  for (auto& result : schema.returns()) {
    std::optional<size_t> which;
    if (result.alias_info() && result.alias_info()->isWrite())
      for (size_t i = 0; i < n; ++i) {
        auto* info = schema.arguments()[i].alias_info();
        if (info && info->isWrite() && info->beforeSets() == result.alias_info()->beforeSets()) which = i;
      }
    written.push_back(which);
    writes &= which.has_value();
  }
  if (schema.returns().empty()) writes = schema.is_mutable();

  for (auto& which : written) large &= !which || !given[*which].isTensor() || given[*which].toTensor().numel() > 0;
  bool same_size = true;
  std::vector<IValue> results;
  if (late && writes && capturing < 0) {
    std::unique_lock hold(lock);
    queues[here()].held.push_back({[call, large] { if (!large) call(); }});
    for (auto& which : written) results.push_back(given[*which]);
    for (auto& value : results) stack->push_back(value);
    return;
  }
  if (late) finish(here());

  if (large && writes) {  // left as it is
    for (auto& which : written) stack->push_back(given[*which]);
    return;
  }
  if (large) {  // only sizes and types, from the meta kernels
    try {
      torch::jit::Stack own;
      for (auto& value : given) {
        if (value.isDevice()) own.push_back(Device(c10::kMeta));
        else own.push_back(changed(value, [](const Tensor& t) {
          return on_gpu(t) ? at::empty_strided(t.sizes(), t.strides(), t.options().device(c10::kMeta)) : t; }));
      }
      { at::AutoDispatchBelowADInplaceOrView below; op.callBoxed(&own); }
      for (auto& value : own)
        results.push_back(changed(value, [&](const Tensor& t) {
          if (!t.defined()) return t;
          auto room = room_for(t, device);
          if (room.nbytes() && room.nbytes() < size_t(MIB)) std::memset(room.data_ptr(), 0, room.nbytes());
          return room; }));
      for (auto& value : results) stack->push_back(value);
      return;
    } catch (const c10::NotImplementedError&) {
      results.clear();
    }
  }
  auto own = call();
  if (broken && (name == "aten::dot" || name == "aten::mm")) own[0].toTensor().add_(1);
  for (size_t i = 0; i < n; ++i) {  // an output that had another size before
    auto* info = schema.arguments()[i].alias_info();
    if (!info || !info->isWrite() || !given[i].isTensor() || !on_gpu(given[i].toTensor())) continue;
    auto& alias = arguments[i].toTensor();
    auto target = given[i].toTensor();
    if (alias.sizes() == target.sizes()) continue;
    at::native::resize_(target, alias.sizes(), std::nullopt);
    if (alias.numel()) alias_on_cpu(target).copy_(alias);
    same_size = false;
  }
  std::vector<std::pair<size_t, Tensor>> fresh;
  for (size_t i = 0; i < own.size(); ++i) {
    if (i < written.size() && written[i]) { results.push_back(given[*written[i]]); continue; }
    results.push_back(changed(own[i], [&](const Tensor& t) {
      if (!t.defined() || !t.is_cpu()) return t;
      auto room = room_for(t, device);
      if (t.numel()) alias_on_cpu(room).copy_(t);
      return room; }));
  }
  if (capturing >= 0 && same_size) {
    auto kept = given;  // a graph keeps its memory
    auto outputs = results;
    graphs[capturing].steps.push_back([call, kept, outputs, written] {
      auto again = call();
      for (size_t i = 0; i < again.size(); ++i)
        if (!(i < written.size() && written[i]) && outputs[i].isTensor() && outputs[i].toTensor().defined())
          alias_on_cpu(outputs[i].toTensor()).copy_(again[i].toTensor());
    });
  }
  for (auto& value : results) stack->push_back(value);
}

Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>, std::optional<Device> device,
             std::optional<bool>, std::optional<at::MemoryFormat> format) {
  auto i = device && device->has_index() ? device->index() : current;
  check(i);
  auto before = std::exchange(current, i);
  struct Restore { DeviceIndex& i; DeviceIndex old; ~Restore() { i = old; } } restore{current, before};
  return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   dtype.value_or(at::typeMetaToScalarType(at::get_default_dtype())), format);
}
Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                     std::optional<Device> device, std::optional<bool>) {
  auto i = device && device->has_index() ? device->index() : current;
  check(i);
  auto before = std::exchange(current, i);
  struct Restore { DeviceIndex& i; DeviceIndex old; ~Restore() { i = old; } } restore{current, before};
  return at::detail::empty_strided_generic(size, stride, &allocator, c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           dtype.value_or(at::typeMetaToScalarType(at::get_default_dtype())));
}
Tensor& set_nothing(Tensor& self) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), 0, allocator.allocate(0), &allocator, true);
  return at::native::set_storage_cpu_(self, storage, 0, {0}, {});
}
void record_stream(Tensor& self, Stream s) { Guard().recordDataPtrOnStream(self.storage().data_ptr(), s); }
}  // namespace

TORCH_LIBRARY_IMPL(_, CUDA, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>()); }
TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("_reshape_alias", at::native::_reshape_alias);
  m.impl("unfold", at::native::unfold);
  m.impl("resize_", at::native::resize_);
  m.impl("set_.source_Storage_storage_offset", at::native::set_storage_cpu_);
  m.impl("set_.source_Storage", at::native::set_);
  m.impl("set_.source_Tensor", at::native::set_tensor_);
  m.impl("set_", set_nothing);
  m.impl("record_stream", record_stream);
  m.impl("view.dtype", at::native::view_dtype);
  std::set<std::string> own = {"aten::empty.memory_format", "aten::empty_strided", "aten::as_strided", "aten::view",
    "aten::view.dtype", "aten::_reshape_alias", "aten::unfold", "aten::resize_", "aten::set_", "aten::record_stream",
    "aten::set_.source_Storage_storage_offset", "aten::set_.source_Storage", "aten::set_.source_Tensor"};
  // The others as on the CPU; what has no kernel of its own there is made of smaller operations here, too.
  for (auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    auto full = c10::toString(name);
    auto op = c10::Dispatcher::singleton().findOp(name);
    bool kernel = op && op->hasKernelForDispatchKey(c10::DispatchKey::CPU);
    bool whole = full == "aten::copy_" || full == "aten::convolution" || full == "aten::convolution_backward";
    if (full.rfind("aten::", 0) == 0 && !own.count(full) && (kernel || whole))
      m.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  }
}
TORCH_LIBRARY(cuda_standin, m) {
  m.def("set_generator(int device, Generator? generator) -> ()", [](int64_t i, std::optional<at::Generator> g) { generators[i] = *g; });
}
namespace c10::impl { C10_REGISTER_GUARD_IMPL(CUDA, Guard) }
namespace at { using StandinHooks = Hooks; C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", StandinHooks) }

extern "C" {
void standin_start(int count, int64_t memory) {
  devices = count, total_memory = memory;
  c10::SetAllocator(CUDA, &allocator, 1);
}
void standin_break() { broken = true; }
void standin_on_tf32(void (*call)()) { tell_tf32 = call; }
int standin_device() { return current; }
int64_t standin_stream(int i) { return current_stream[i]; }
void standin_set_stream(int i, int64_t id) { current_stream[i] = id; }
int standin_exchange_device(int i) {
  if (i < 0) return -1;
  return i < devices ? std::exchange(current, DeviceIndex(i)) : -2;
}
void standin_sleep() { std::unique_lock hold(lock); if (capturing < 0) { auto& q = queues[here()]; q.sleeps = true; q.held.push_back({[] {}}); } }
void standin_synchronize() { finish_device(current); }
void standin_sync_debug(int mode) { sync_debug = mode; }
int standin_get_sync_debug() { return sync_debug; }
void standin_share(int i, double share) { accounts[i].share = share; }
void standin_empty_cache() { for (int i = 0; i < devices; ++i) empty_cache(i); }
void standin_reset_peak(int i) { auto& a = accounts[i]; a.peak = a.allocated, a.asked_peak = a.asked, a.cached_peak = reserved(i); }
void standin_memory(int i, int64_t* out) {
  std::unique_lock hold(lock);
  auto& a = accounts[i];
  int64_t values[] = {a.allocated, a.peak, a.asked, a.asked_peak, reserved(i), a.cached_peak, a.refused};
  std::copy(std::begin(values), std::end(values), out);
}
int64_t standin_freed(int64_t* out, int64_t room) {
  std::unique_lock hold(lock);
  int64_t count = 0;
  while (count < room && !freed.empty()) out[count++] = freed.back(), freed.pop_back();
  return count;
}
void standin_graph_begin(int64_t id) { graphs[id].steps.clear(), capturing = id; }
void standin_graph_end() { capturing = -1; }
void standin_graph_replay(int64_t id) { for (auto& step : graphs[id].steps) step(); }
void standin_graph_reset(int64_t id) { graphs.erase(id); }
}
