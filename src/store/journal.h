// The journal on disk, all of it: segments, the writer, the scan that recovery makes, and notes
// read again by their place. See docs/decisions/0007-journal-on-disk.md.
#pragma once

#include "store/journal_reader.h"
#include "store/journal_types.h"
#include "store/journal_writer.h"
#include "store/segment.h"
#include "store/segment_reader.h"
