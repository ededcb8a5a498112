#include "checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "checkpoint/json_reader.h"

namespace octet {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kMaxDimensions = 16;              // more than any tensor has; bounds what one entry can allocate

// One tensor's entry before its offsets are compared with the file.
struct Entry {
  TensorInfo tensor;
  int64_t begin = 0;
  int64_t end = 0;
};

std::string_view header_text(std::span<const std::byte> file, std::string_view where) {
  const char* next_step = "; the file is cut short or not a safetensors file: fetch it again";
  if (file.size() < kLengthBytes) {
    fail(ErrorCode::bad_file, where, ": expected at least 8 bytes, got ", file.size(), next_step);
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kMaxHeaderBytes) {
    fail(ErrorCode::bad_file, where, ": expected a header of at most ", kMaxHeaderBytes, " bytes, got ", length,
         next_step);
  }
  if (length > file.size() - kLengthBytes) {
    fail(ErrorCode::bad_file, where, ": expected a header of ", length, " bytes, got a file of ", file.size(),
         next_step);
  }
  return {reinterpret_cast<const char*>(file.data()) + kLengthBytes, static_cast<size_t>(length)};
}

// Bytes of a tensor; nullopt if they pass 2^63 or are not whole.
std::optional<int64_t> tensor_bytes(const Shape& shape, DType dtype) {
  int64_t total_bits = bits(dtype);
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(total_bits, size, &total_bits)) return std::nullopt;
  }
  if (total_bits % 8 != 0) return std::nullopt;
  return total_bits / 8;
}

// Takes "__metadata__": strings by name. Nothing in it matters to octet, so it is only checked.
void skip_metadata(JsonReader& reader) {
  std::unordered_set<std::string> keys;
  reader.object([&](const std::string& key) {
    if (!keys.insert(key).second) reader.wrong("each key of \"__metadata__\" once before this byte");
    reader.string();
  });
}

Entry read_entry(JsonReader& reader, std::string_view where, const std::string& name) {
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  std::vector<int64_t> offsets;
  reader.object([&](const std::string& key) {
    if (key == "dtype" && !dtype) {
      const std::string text = reader.string();
      dtype = parse_dtype(text);
      if (!dtype) {
        fail(ErrorCode::bad_file, where, ": ", name, ": expected a known dtype, got \"", text,
             "\"; the file needs a newer octet or is damaged");
      }
    } else if (key == "shape" && !shape) {
      shape.emplace();
      reader.array([&] {
        if (shape->size() == kMaxDimensions) reader.wrong("at most 16 dimensions");
        shape->push_back(reader.natural());
      });
    } else if (key == "data_offsets" && offsets.empty()) {
      reader.array([&] {
        if (offsets.size() == 2) reader.wrong("two offsets");
        offsets.push_back(reader.natural());
      });
    } else {
      reader.wrong("\"dtype\", \"shape\" and \"data_offsets\" once each before this byte");
    }
  });
  if (!dtype || !shape || offsets.size() != 2) {
    reader.wrong("\"dtype\", \"shape\" and two \"data_offsets\" before this byte");
  }
  return {{.name = name, .dtype = *dtype, .shape = std::move(*shape)}, offsets[0], offsets[1]};
}

std::vector<Entry> read_header(std::string_view header, std::string_view where) {
  JsonReader reader(header, where, ErrorCode::bad_file);
  if (header.empty() || header.front() != '{') reader.wrong("'{'");
  std::vector<Entry> entries;
  std::unordered_set<std::string> names;
  reader.object([&](const std::string& name) {
    if (!names.insert(name).second) {
      fail(ErrorCode::bad_file, where, ": ", name, ": expected each name once, got it twice; the file is damaged");
    }
    if (name == "__metadata__") {
      skip_metadata(reader);
    } else {
      entries.push_back(read_entry(reader, where, name));
    }
  });
  reader.end();
  return entries;
}

void check_size(const Entry& entry, int64_t data_bytes, std::string_view where) {
  const auto& [tensor, begin, end] = entry;
  if (begin > end || end > data_bytes) {
    fail(ErrorCode::bad_file, where, ": ", tensor.name, ": expected data inside the file's ", data_bytes,
         " bytes of data, got [", begin, ", ", end, "); the file is cut short or damaged: fetch it again");
  }
  const std::optional<int64_t> want = tensor_bytes(tensor.shape, tensor.dtype);
  if (!want) {
    fail(ErrorCode::bad_file, where, ": ", tensor.name, ": expected whole bytes and fewer than 2^63 bits, got ",
         describe(tensor.dtype, tensor.shape), "; the file is damaged");
  }
  if (*want != end - begin) {
    fail(ErrorCode::bad_file, where, ": ", tensor.name, ": expected ", *want, " bytes for ",
         describe(tensor.dtype, tensor.shape), ", got ", end - begin, "; the file is damaged: fetch it again");
  }
}

}  // namespace

std::string describe(const Shape& shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

std::string describe(DType dtype, const Shape& shape) { return std::string(to_string(dtype)) + " " + describe(shape); }

std::vector<TensorInfo> parse_safetensors(std::span<const std::byte> file, std::string_view where) {
  const std::string_view header = header_text(file, where);
  std::vector<Entry> entries = read_header(header, where);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });

  const std::span<const std::byte> data = file.subspan(kLengthBytes + header.size());
  const auto data_bytes = static_cast<int64_t>(data.size());
  std::vector<TensorInfo> tensors;
  int64_t covered = 0;
  for (Entry& entry : entries) {
    check_size(entry, data_bytes, where);
    if (entry.begin != covered) {
      fail(ErrorCode::bad_file, where, ": ", entry.tensor.name, ": expected data from byte ", covered,
           " on, without gap or overlap, got ", entry.begin, "; the file is damaged: fetch it again");
    }
    covered = entry.end;
    entry.tensor.data = data.data() + entry.begin;
    entry.tensor.bytes = entry.end - entry.begin;
    tensors.push_back(std::move(entry.tensor));
  }
  if (covered != data_bytes) {
    fail(ErrorCode::bad_file, where, ": expected ", covered, " bytes of data, got ", data_bytes,
         "; bytes that belong to no tensor are refused: fetch the file again");
  }
  return tensors;
}

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  file.mapping_ = MappedFile::open(path);
  file.tensors_ = parse_safetensors(file.mapping_.bytes(), path);
  return file;
}

}  // namespace octet
