/** The tests of every store, on a disk. With LONG=1, with many more files. */
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { testStore } from "../conformance-testing.ts";
import { DISK } from "../testing.ts";

testStore(DISK, await fileFolder());
