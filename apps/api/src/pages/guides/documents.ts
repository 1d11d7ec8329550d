/** The documents that are guides of the product. The bundle and the compiled program contain their text. */
/// <reference path="./documents.d.ts" />
import assets from "../../../../../docs/assets.md" with { type: "text" };
import calls from "../../../../../docs/calls.md" with { type: "text" };
import conversation from "../../../../../docs/conversation.md" with { type: "text" };
import credits from "../../../../../docs/credits.md" with { type: "text" };
import engines from "../../../../../docs/engines.md" with { type: "text" };
import keys from "../../../../../docs/keys.md" with { type: "text" };
import preparation from "../../../../../docs/preparation.md" with { type: "text" };
import troubleshooting from "../../../../../docs/troubleshooting.md" with { type: "text" };
import videos from "../../../../../docs/videos.md" with { type: "text" };
import voices from "../../../../../docs/voices.md" with { type: "text" };
import webhooks from "../../../../../docs/webhooks.md" with { type: "text" };

/** The guides by file name, in the order of the contents. */
export const GUIDES: Readonly<Record<string, string>> = {
  videos,
  calls,
  conversation,
  voices,
  webhooks,
  credits,
  engines,
  assets,
  preparation,
  keys,
  troubleshooting,
};
