// ChunkFifo: many queues of small records in one pool of 128-byte chunks.
//
// A record is (slot, stamp): the task's row and the stamp the row had when it was queued. A row
// whose stamp has moved on left the queue by another door (cancel, expiry, hold) and its record is
// a tombstone; the owner skips it. Nothing is allocated per task.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "base/paged_vector.h"

namespace berth {

struct FifoRecord {
  std::uint32_t slot = 0;
  std::uint32_t stamp = 0;
};

// One queue. Plain data; all work is done by the pool.
struct Fifo {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t head_chunk = kNone;
  std::uint32_t tail_chunk = kNone;
  std::uint16_t head_at = 0;
  std::uint16_t tail_at = 0;
  std::uint32_t size = 0;  // records, tombstones included
};

class ChunkPool {
 public:
  static constexpr std::uint16_t kRecords = 15;

  void push_back(Fifo& fifo, FifoRecord record) {
    if (fifo.tail_chunk == Fifo::kNone || fifo.tail_at == kRecords) {
      const std::uint32_t fresh = take();
      if (fifo.tail_chunk == Fifo::kNone) {
        fifo.head_chunk = fresh;
        fifo.head_at = 0;
      } else {
        chunks_[fifo.tail_chunk].next = fresh;
      }
      fifo.tail_chunk = fresh;
      fifo.tail_at = 0;
    }
    chunks_[fifo.tail_chunk].records[fifo.tail_at++] = record;
    ++fifo.size;
  }

  const FifoRecord& front(const Fifo& fifo) const {
    ASSERT(fifo.size > 0);
    return chunks_[fifo.head_chunk].records[fifo.head_at];
  }

  void pop_front(Fifo& fifo) {
    ASSERT(fifo.size > 0);
    --fifo.size;
    ++fifo.head_at;
    if (fifo.size == 0) {
      give(fifo.head_chunk);
      fifo = Fifo{};
    } else if (fifo.head_at == kRecords) {
      const std::uint32_t done = fifo.head_chunk;
      fifo.head_chunk = chunks_[done].next;
      fifo.head_at = 0;
      give(done);
    }
  }

  void clear(Fifo& fifo) {
    while (fifo.size > 0)
      pop_front(fifo);
  }

  // Walks a queue from the front without changing it.
  class Cursor {
   public:
    Cursor(const ChunkPool& pool, const Fifo& fifo)
        : pool_(&pool), chunk_(fifo.head_chunk), at_(fifo.head_at), left_(fifo.size) {}
    bool done() const { return left_ == 0; }
    const FifoRecord& operator*() const { return pool_->chunks_[chunk_].records[at_]; }
    void advance() {
      --left_;
      if (++at_ == kRecords && left_ > 0) {
        chunk_ = pool_->chunks_[chunk_].next;
        at_ = 0;
      }
    }

   private:
    const ChunkPool* pool_;
    std::uint32_t chunk_;
    std::uint16_t at_;
    std::uint32_t left_;
  };

  std::size_t bytes() const { return chunks_.bytes(); }

 private:
  struct alignas(128) Chunk {
    FifoRecord records[kRecords];
    std::uint32_t next = Fifo::kNone;
    std::uint32_t unused = 0;
  };
  static_assert(sizeof(Chunk) == 128);

  std::uint32_t take() {
    if (free_ != Fifo::kNone) {
      const std::uint32_t chunk = free_;
      free_ = chunks_[chunk].next;
      chunks_[chunk].next = Fifo::kNone;
      return chunk;
    }
    chunks_.grow_to(chunks_.size() + 1);
    return static_cast<std::uint32_t>(chunks_.size() - 1);
  }
  void give(std::uint32_t chunk) {
    chunks_[chunk].next = free_;
    free_ = chunk;
  }

  PagedVector<Chunk, 1024> chunks_;
  std::uint32_t free_ = Fifo::kNone;
};

}  // namespace berth
