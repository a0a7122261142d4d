// Launches an exported kernel with wgpu-native, from its description. cJSON reads the JSON.
//
//   cc host.c -I wgpu -L wgpu -l:libwgpu_native-release.so -lcjson -o host
//   ./host softmax.json softmax M=5 N=300 x=x.bin y=y.bin
//
// Files are buffers, little-endian; what the kernel writes is written back into its file.
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wgpu.h"

enum { MOST = 64 };
typedef __int128 whole; // formulas are over integers of any size; of sizes below 2^31 this holds products of four

typedef struct {
  const char *name;
  whole n;
  double real;
} Number;

static Number numbers[MOST];
static int count;
static const char *own;

static void fail(const char *what, const char *more) {
  fprintf(stderr, "%s: %s%s\n", own, what, more);
  exit(1);
}

static const cJSON *at(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }
static const char *text(const cJSON *object, const char *key) { return at(object, key)->valuestring; }
static WGPUStringView view(const char *s) { return (WGPUStringView){s, WGPU_STRLEN}; }

static Number *number(const char *name) {
  for (int i = 0; i < count; i++)
    if (!strcmp(numbers[i].name, name)) return &numbers[i];
  return NULL;
}

static whole floor_divide(whole a, whole b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// A formula: a number, the name of a number of the call, or [operator, operand, ...].
static whole value(const cJSON *formula) {
  if (cJSON_IsString(formula)) return number(formula->valuestring)->n;
  if (!cJSON_IsArray(formula)) return (whole)formula->valuedouble;
  const cJSON *part = formula->child;
  const char *op = part->valuestring;
  part = part->next;
  whole so_far = value(part);
  for (part = part->next; part; part = part->next) {
    whole n = value(part);
    if (!strcmp(op, "+")) so_far += n;
    else if (!strcmp(op, "*")) so_far *= n;
    else if (!strcmp(op, "//")) so_far = floor_divide(so_far, n);
    else if (!strcmp(op, "%")) so_far -= floor_divide(so_far, n) * n;
    else if (!strcmp(op, "==")) so_far = so_far == n;
    else if (!strcmp(op, "<=")) so_far = so_far <= n;
    else if (!strcmp(op, "and")) so_far = so_far && n;
    else so_far = so_far || n;
  }
  return so_far;
}

// The text of a fact, in which names in braces are numbers of the call.
static void refuse(const char *said) {
  char out[1000];
  size_t n = 0;
  while (*said && n < sizeof out - 50) {
    const char *end = *said == '{' ? strchr(said, '}') : NULL;
    if (!end) {
      out[n++] = *said++;
      continue;
    }
    char name[100] = {0};
    memcpy(name, said + 1, (size_t)(end - said - 1) % sizeof name);
    n += (size_t)sprintf(out + n, "%lld", (long long)number(name)->n);
    said = end + 1;
  }
  out[n] = 0;
  fail(out, "");
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot be read: ", path);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *data = calloc(*size + 17, 1);
  if (fread(data, 1, *size, file) != *size) fail("cannot be read: ", path);
  fclose(file);
  return data;
}

static const char *argument(int argc, char **argv, const char *name) {
  size_t length = strlen(name);
  for (int i = 3; i < argc; i++)
    if (!strncmp(argv[i], name, length) && argv[i][length] == '=') return argv[i] + length + 1;
  return NULL;
}

// Whether a call gives a number of a buffer, NAME.stride[0] or NAME.offset: its file may be longer then.
static int gives_strides(int argc, char **argv, const char *name) {
  size_t length = strlen(name);
  for (int i = 3; i < argc; i++)
    if (!strncmp(argv[i], name, length) && argv[i][length] == '.') return 1;
  return 0;
}

static int has(const cJSON *list, const char *argument) {
  const cJSON *one;
  size_t length = strcspn(argument, "=");
  cJSON_ArrayForEach(one, list) if (strlen(text(one, "name")) == length && !strncmp(text(one, "name"), argument, length)) return 1;
  return 0;
}

static void got_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView m, void *out, void *unused) {
  (void)m, (void)unused;
  if (status == WGPURequestAdapterStatus_Success) *(WGPUAdapter *)out = adapter;
}
static void got_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView m, void *out, void *unused) {
  (void)unused;
  if (status == WGPURequestDeviceStatus_Success) *(WGPUDevice *)out = device;
  else fprintf(stderr, "%.*s\n", (int)m.length, m.data);
}
static void got_error(WGPUDevice const *device, WGPUErrorType type, WGPUStringView message, void *a, void *b) {
  (void)device, (void)type, (void)a, (void)b;
  fprintf(stderr, "%s: %.*s\n", own, (int)message.length, message.data);
  exit(1);
}
static void mapped(WGPUMapAsyncStatus status, WGPUStringView m, void *out, void *unused) {
  (void)m, (void)unused;
  *(int *)out = status == WGPUMapAsyncStatus_Success ? 1 : -1;
}

static WGPUBuffer make(WGPUDevice device, WGPUBufferUsage usage, size_t size, const void *data) {
  WGPUBuffer buffer = wgpuDeviceCreateBuffer(device, &(WGPUBufferDescriptor){.usage = usage, .size = size});
  if (data) wgpuQueueWriteBuffer(wgpuDeviceGetQueue(device), buffer, 0, data, size);
  return buffer;
}

int main(int argc, char **argv) {
  if (argc < 3) return fprintf(stderr, "host DESCRIPTION.json NAME number=value buffer=file ...\n"), 2;
  own = argv[2];
  size_t size;
  const cJSON *all = cJSON_Parse(read_file(argv[1], &size)), *function = NULL, *one;
  cJSON_ArrayForEach(one, at(all, "functions")) if (!strcmp(text(one, "name"), own)) function = one;
  if (!function) fail("the description has no such function", "");

  for (int i = 3; i < argc; i++)
    if (!has(at(function, "numbers"), argv[i]) && !has(at(function, "buffers"), argv[i])) fail("it takes no ", argv[i]);

  // The variant without features of a device, which is the last; its limits are those of every device or more.
  const cJSON *variants = at(function, "variants"), *variant = cJSON_GetArrayItem(variants, cJSON_GetArraySize(variants) - 1);
  if (cJSON_GetArraySize(at(variant, "needs"))) fail("it needs ", at(variant, "needs")->child->valuestring);

  cJSON_ArrayForEach(one, at(function, "numbers")) {
    const char *name = text(one, "name"), *given = argument(argc, argv, name);
    const cJSON *least = at(one, "least"), *otherwise = at(one, "default");
    if (!given && !otherwise) fail("it takes a number ", name);
    char *end = NULL;
    if (given && (least ? strtoll(given, &end, 10) : (long long)strtod(given, &end), *end)) fail("no number: ", given);
    Number n = {name, given ? (whole)strtoll(given, NULL, 10) : value(otherwise), given ? strtod(given, NULL) : 0};
    if (least && (n.n < (whole)least->valuedouble || n.n > (whole)at(one, "most")->valuedouble)) fail("out of range: ", name);
    if (count == MOST) fail("too many numbers", "");
    numbers[count++] = n;
  }
  cJSON_ArrayForEach(one, at(variant, "facts")) if (!value(at(one, "holds"))) refuse(text(one, "text"));

  WGPUInstance instance = wgpuCreateInstance(NULL);
  WGPUAdapter adapter = NULL;
  WGPUDevice device = NULL;
  wgpuInstanceRequestAdapter(instance, NULL, (WGPURequestAdapterCallbackInfo){
    .mode = WGPUCallbackMode_AllowProcessEvents, .callback = got_adapter, .userdata1 = &adapter});
  wgpuInstanceProcessEvents(instance);
  if (!adapter) fail("no adapter", "");
  WGPULimits limits = {0};
  wgpuAdapterGetLimits(adapter, &limits);
  wgpuAdapterRequestDevice(adapter, &(WGPUDeviceDescriptor){.requiredLimits = &limits,
    .uncapturedErrorCallbackInfo = {.callback = got_error}}, (WGPURequestDeviceCallbackInfo){
    .mode = WGPUCallbackMode_AllowProcessEvents, .callback = got_device, .userdata1 = &device});
  wgpuInstanceProcessEvents(instance);
  if (!device) fail("no device", "");

  WGPUBuffer buffers[MOST];
  char *data[MOST];
  size_t sizes[MOST];
  int n = 0;
  cJSON_ArrayForEach(one, at(function, "buffers")) {
    const char *name = text(one, "name"), *path = argument(argc, argv, name);
    size_t needed = (size_t)value(at(one, "bytes"));
    int temporary = cJSON_IsTrue(at(one, "temporary"));
    if (n == MOST || (!temporary && !path)) fail("it takes a buffer ", name);
    data[n] = temporary ? NULL : read_file(path, &sizes[n]);
    if (!temporary && sizes[n] < needed) fail("too small: ", name);
    if (!temporary && sizes[n] > needed && !at(one, "gaps") && !gives_strides(argc, argv, name)) fail("too large: ", name);
    size_t whole_size = ((temporary ? needed : sizes[n]) + 15) / 16 * 16;
    buffers[n] = make(device, WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst, whole_size ? whole_size : 16, data[n]);
    n++;
  }

  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, NULL);
  cJSON_ArrayForEach(one, at(variant, "launches")) {
    if (at(one, "when") && !value(at(one, "when"))) continue;
    WGPUBindGroupLayoutEntry layout[MOST + 1] = {0};
    WGPUBindGroupEntry entries[MOST + 1] = {0};
    size_t bound = 0;
    const cJSON *access = at(one, "access")->child, *part;
    cJSON_ArrayForEach(part, at(one, "buffers")) {
      int read = !strcmp(access->valuestring, "read");
      layout[bound] = (WGPUBindGroupLayoutEntry){.binding = (uint32_t)bound, .visibility = WGPUShaderStage_Compute,
        .buffer.type = read ? WGPUBufferBindingType_ReadOnlyStorage : WGPUBufferBindingType_Storage};
      entries[bound] = (WGPUBindGroupEntry){.binding = (uint32_t)bound, .buffer = buffers[part->valueint], .size = WGPU_WHOLE_SIZE};
      bound++, access = access->next;
    }
    uint32_t words[MOST];
    size_t params = 0;
    cJSON_ArrayForEach(part, at(one, "params")) {
      const cJSON *v = at(part, "value");
      if (*text(part, "type") == 'f') {
        Number *named = cJSON_IsString(v) ? number(v->valuestring) : NULL;
        float real = (float)(named ? named->real : v->valuedouble);
        memcpy(&words[params++], &real, 4);
      } else words[params++] = (uint32_t)value(v);
    }
    if (params) { // after the buffers
      layout[bound] = (WGPUBindGroupLayoutEntry){.binding = (uint32_t)bound, .visibility = WGPUShaderStage_Compute,
        .buffer.type = WGPUBufferBindingType_Uniform};
      entries[bound] = (WGPUBindGroupEntry){.binding = (uint32_t)bound, .size = 4 * params,
        .buffer = make(device, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst, 4 * params, words)};
      bound++;
    }
    WGPUBindGroupLayout group = wgpuDeviceCreateBindGroupLayout(device,
      &(WGPUBindGroupLayoutDescriptor){.entryCount = bound, .entries = layout});
    WGPUPipelineLayout groups = wgpuDeviceCreatePipelineLayout(device,
      &(WGPUPipelineLayoutDescriptor){.bindGroupLayoutCount = 1, .bindGroupLayouts = &group});
    WGPUShaderSourceWGSL source = {.chain.sType = WGPUSType_ShaderSourceWGSL,
      .code = view(cJSON_GetArrayItem(at(all, "texts"), at(one, "text")->valueint)->valuestring)};
    WGPUShaderModule module = wgpuDeviceCreateShaderModule(device, &(WGPUShaderModuleDescriptor){.nextInChain = &source.chain});
    WGPUComputePipeline pipeline = wgpuDeviceCreateComputePipeline(device, &(WGPUComputePipelineDescriptor){
      .layout = groups, .compute = {.module = module, .entryPoint = view(text(one, "entry"))}});

    WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, NULL);
    wgpuComputePassEncoderSetPipeline(pass, pipeline);
    wgpuComputePassEncoderSetBindGroup(pass, 0, wgpuDeviceCreateBindGroup(device, &(WGPUBindGroupDescriptor){
      .layout = group, .entryCount = bound, .entries = entries}), 0, NULL);
    const cJSON *grid = at(one, "grid");
    uint32_t xyz[3];
    for (int i = 0; i < 3; i++) xyz[i] = (uint32_t)value(cJSON_GetArrayItem(grid, i));
    wgpuComputePassEncoderDispatchWorkgroups(pass, xyz[0], xyz[1], xyz[2]);
    wgpuComputePassEncoderEnd(pass);
  }

  WGPUBuffer staged[MOST] = {0};
  for (int i = 0; i < n; i++) {
    const cJSON *buffer = cJSON_GetArrayItem(at(function, "buffers"), i);
    if (!data[i] || !cJSON_IsTrue(at(buffer, "written"))) continue;
    size_t bytes = wgpuBufferGetSize(buffers[i]);
    staged[i] = make(device, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, bytes, NULL);
    wgpuCommandEncoderCopyBufferToBuffer(encoder, buffers[i], 0, staged[i], 0, bytes);
  }
  WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, NULL);
  wgpuQueueSubmit(wgpuDeviceGetQueue(device), 1, &commands);
  for (int i = 0; i < n; i++) {
    if (!staged[i]) continue;
    int done = 0;
    size_t bytes = wgpuBufferGetSize(staged[i]);
    wgpuBufferMapAsync(staged[i], WGPUMapMode_Read, 0, bytes, (WGPUBufferMapCallbackInfo){
      .mode = WGPUCallbackMode_AllowProcessEvents, .callback = mapped, .userdata1 = &done});
    while (!done) wgpuDevicePoll(device, 1, NULL), wgpuInstanceProcessEvents(instance);
    if (done < 0) fail("cannot be read back", "");
    FILE *file = fopen(argument(argc, argv, text(cJSON_GetArrayItem(at(function, "buffers"), i), "name")), "wb");
    fwrite(wgpuBufferGetConstMappedRange(staged[i], 0, bytes), 1, sizes[i], file);
    fclose(file);
  }
  return 0;
}
