/** The store on a disk, as every store. With LONG=1, of many more files. */
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { testStore } from "../conformance-testing.ts";
import { DISK } from "../testing.ts";

testStore(DISK, await fileFolder());
