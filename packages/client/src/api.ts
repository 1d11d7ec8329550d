/* Generated from docs/openapi.json by `bun run openapi`. Do not edit. */
export interface paths {
  "/api/v1/api-keys": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List API keys
     * @description Lists the keys that the calling key may see, newest first.
     *
     *     Requires the scope `api_keys:write`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listApiKeys"];
    put?: never;
    /**
     * Create an API key
     * @description Creates a key that can do no more than the calling key. Only this response contains its secret.
     *
     *     Requires the scope `api_keys:write`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["createApiKey"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/api-keys/self": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the calling key
     * @description Returns the calling key, with its scopes and limits. Useful as the first call of an integration.
     *
     *     Requires any valid key.
     */
    get: operations["getCallingApiKey"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/api-keys/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read an API key
     * @description Returns a key and its creator, without its secret.
     *
     *     Requires the scope `api_keys:write`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getApiKey"];
    put?: never;
    post?: never;
    /**
     * Revoke an API key
     * @description Revokes the key and its descendant keys permanently. Takes effect on every replica before the response is sent.
     *
     *     Requires the scope `api_keys:write`, or the session of a person with the role `developer` or a greater one.
     */
    delete: operations["revokeApiKey"];
    options?: never;
    head?: never;
    /**
     * Change an API key
     * @description Changes the given fields. A key can widen only its descendants, and only up to its own permissions. It can narrow its descendants and any key that it could create, except its ancestors.
     *
     *     Requires the scope `api_keys:write`, or the session of a person with the role `developer` or a greater one.
     */
    patch: operations["updateApiKey"];
    trace?: never;
  };
  "/api/v1/api-keys/{id}/rotate": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Rotate an API key
     * @description Gives the calling key or one of its descendants a new secret. Only this response contains it. The old secret remains valid until the overlap ends. Until then, the key cannot rotate itself again. One exception: until the new secret is first used, the old secret can rotate the key again.
     *
     *     Requires the scope `api_keys:write`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["rotateApiKey"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/assets/remote": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Import an asset
     * @description Creates an asset from a file that the service fetches from `remoteUrl`: over https, from public addresses, with at most 3 redirects. The asset becomes `ready` or `failed`.
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["createRemoteAsset"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/assets": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List assets
     * @description Lists the assets in the environment of the calling key, newest first. Deleted assets are included only with `status=deleted`.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listAssets"];
    put?: never;
    /**
     * Upload an asset
     * @description Uploads a file in a form. The bytes of the file decide its type, never its name or a declared type. Properties that only decoding shows are checked later: the asset becomes `ready` or `failed`. With an `Idempotency-Key`, the same file with the same `kind` is the same request.
     *
     *     - `image`: image/jpeg, image/png or image/webp; at most 16 MiB; at most 40 megapixels; 1 frame
     *     - `video`: video/mp4, video/quicktime or video/webm; at most 200 MiB; 1 to 120 s; at most 1920 × 1080 pixels in either orientation; at most 60 frames per second; H.264 or VP9
     *     - `audio`: audio/mpeg, audio/wav, audio/mp4, audio/aac, audio/ogg or audio/flac; at most 32 MiB; longer than 0 s
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["uploadAsset"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/assets/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read an asset
     * @description Returns an asset in any status, including `deleted`.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getAsset"];
    put?: never;
    post?: never;
    /**
     * Delete an asset
     * @description Sets the status to `deleted`, and deletes its files. `publicUrl` is 404 at once, and gone from caches after 60 seconds. Deleting it again has no effect.
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    delete: operations["deleteAsset"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/assets/uploads": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Upload a large asset straight to the store
     * @description Creates an asset and returns where to PUT its file: `upload.url`, with exactly `upload.headers` and a `Content-Length`. The URL takes only a file of this size, type and MD5, until `upload.expiresAt`. Then call `complete`. An upload that is not completed within a day becomes `failed`.
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["createUpload"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/assets/{id}/complete": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Complete an upload
     * @description Reports that the file was sent to `upload.url`. Checks its type, and starts to process it. Completing it again has no effect.
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["completeUpload"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/avatars": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List avatars
     * @description Lists the avatars in the environment of the calling key, newest first. Deleted avatars are included only with `status=deleted`. A request without parameters gets as many avatars as fit into 1 MiB, at most 2,000. With any parameter, `limit` is 50 when omitted.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listAvatars"];
    put?: never;
    /**
     * Create an avatar
     * @description Creates an avatar in the environment of the calling key. With a `sourceAssetId`, its status is `preprocessing`, and becomes `ready` or `failed`. Without, it is `draft`.
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["createAvatar"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/avatars/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read an avatar
     * @description Returns an avatar in any status, including `deleted`.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getAvatar"];
    put?: never;
    post?: never;
    /**
     * Delete an avatar
     * @description Sets the status to `deleted`, and ends its preparation. `previewUrl` is 404 at once. The avatar can still be read, but lists omit it by default. Deleting it again has no effect.
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    delete: operations["deleteAvatar"];
    options?: never;
    head?: never;
    /**
     * Change an avatar
     * @description Changes the given fields. `settings` and `metadata` are replaced as a whole, not merged. Another source or model starts a preparation. A `ready` or `disabled` avatar keeps its status and its data until the preparation is done.
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    patch: operations["updateAvatar"];
    trace?: never;
  };
  "/api/v1/avatars/{id}/prepare": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Prepare an avatar again
     * @description Starts a preparation of the avatar from its source. A `draft` or `failed` avatar becomes `preprocessing`. A `ready` or `disabled` one keeps its status and its data until the preparation is done.
     *
     *     Requires the scope `avatars:write`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["prepareAvatar"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/models": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List models
     * @description Lists the models that render avatars, the default first, each with its requirements of a source. Another `modelId` is accepted, with the requirements of the default.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listModels"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/voices": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List voices
     * @description Lists the voices of avatars, the operator's first. If `defaultVoiceId` of an avatar names an unlisted voice, the default voice speaks.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listVoices"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/voices/{id}/sample": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Hear a voice
     * @description A short WAV file (16-bit PCM, mono) of this voice, in its language. The first request for a voice of a provider takes as long as the provider; 503 when it fails.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getVoiceSample"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/videos": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List videos
     * @description Lists the videos in the environment of the calling key, newest first. Deleted videos are included only with `status=deleted`.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listVideos"];
    put?: never;
    /**
     * Create a video
     * @description Has an avatar say a text, or an audio asset of at most 600 seconds, in a video. The video is `queued`, then `rendering`, and becomes `ready` with its `assetId`, or `failed` with its `error`. Until then it holds credits: a second for every eight spoken characters (digits, signs and some scripts count as more), or the seconds of the audio. It is charged for the seconds of its file, at most the held credits. A failed or canceled video costs nothing.
     *
     *     Requires the scope `realtime:write`.
     */
    post: operations["createVideo"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/videos/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a video
     * @description Returns a video in any status, including `deleted`.
     *
     *     Requires the scope `avatars:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getVideo"];
    put?: never;
    post?: never;
    /**
     * Cancel or delete a video
     * @description Cancels a video that is `queued` or `rendering`: the worker stops within seconds, at no charge. A video in another status is deleted, with its text and its file. Deleting it again has no effect. A key without `avatars:write` cancels and deletes only its own videos and those of its descendants.
     *
     *     Requires the scope `realtime:write`, or the session of a person with the role `developer` or a greater one.
     */
    delete: operations["deleteVideo"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/credits/balance": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the credit balance
     * @description Returns the credits of the tenant in the environment of the calling key.
     *
     *     Requires the scope `credits:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getCreditBalance"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * Change the threshold of low credits
     * @description Changes the threshold in the environment of the calling key. When fewer credits are available, the event `credits.low` is sent to the tenant's webhook endpoints. Null: never. No credits are granted or spent.
     *
     *     Requires the scope `*`, or the session of a person with the role `developer` or a greater one.
     */
    patch: operations["updateCreditBalance"];
    trace?: never;
  };
  "/api/v1/credits/entries": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List credit entries
     * @description Lists movements of the tenant's credits in the environment of the calling key, newest first. A person and a root key see all movements. Any other key sees those of its own sessions and of its descendants' sessions. A page can have fewer entries than `limit`, or none, and still have a `nextCursor`. Entries are never changed.
     *
     *     Requires the scope `credits:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listCreditEntries"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/credits/entries.csv": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export credit entries
     * @description The entries of the list, as a file. CSV (RFC 4180) in UTF-8, newest first: a row for each item, and a column for each of its fields. Numbers are numbers, null is empty, lists and objects are JSON. A text that a spreadsheet would take for a formula begins with an apostrophe. A file ends after `limit` rows, 64 MiB or five minutes. If more rows follow, its last row says so: its first cell begins with `# NOT COMPLETE` and ends with the `cursor` of the next file. A connection that ends early is reset.
     *
     *     Requires the scope `credits:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["exportCreditEntries"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/usage/sessions": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List usage sessions
     * @description Lists the sessions that were created in a time window, in the environment of the calling key, newest first.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listUsageSessions"];
    put?: never;
    /**
     * Open a usage session
     * @description Holds credits for a call: as many whole seconds as fit, at most `maxSessionSeconds` and at least `minSessionSeconds`. They must fit the tenant's balance and the spend caps of the calling key and of its ancestors. The number of open sessions is limited for the key, each ancestor and the tenant. A request that does not fit holds nothing. The session ends by itself unless its use is reported before `expiresAt`.
     *
     *     Requires the scope `realtime:write`.
     */
    post: operations["openUsageSession"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/usage/sessions.csv": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export usage sessions
     * @description The sessions of the list, as a file. CSV (RFC 4180) in UTF-8, newest first: a row for each item, and a column for each of its fields. Numbers are numbers, null is empty, lists and objects are JSON. A text that a spreadsheet would take for a formula begins with an apostrophe. A file ends after `limit` rows, 64 MiB or five minutes. If more rows follow, its last row says so: its first cell begins with `# NOT COMPLETE` and ends with the `cursor` of the next file. A connection that ends early is reset.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["exportUsageSessions"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/usage/sessions/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a usage session
     * @description Returns a session in any status.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getUsageSession"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/usage/sessions/{id}/usage": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Report the usage of a session
     * @description Records what the session has used since its start. The first report, which may be 0, starts the session. Each report extends its lease. Usage is cumulative: lost, repeated and late reports have no effect on the charge.
     *
     *     Requires the scope `usage:write`.
     */
    post: operations["reportUsage"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/usage/sessions/{id}/release": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * End a usage session
     * @description With `usage:write`: ends any session, charges it once, and frees the rest. The charge is `usedCreditMicros` or, if higher, the reported usage. With `realtime:write` alone: ends a session of the calling key or of a descendant that was never started, at no charge. A started session stays open with `mustEnd` until its engine ends it, or until the end of its lease, and is then charged for the reported usage. A call of this service ends at once, started or not. Repeating the request has no effect.
     *
     *     Requires the scope `realtime:write` or `usage:write`.
     */
    post: operations["releaseSession"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/usage/summary": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Sum up usage
     * @description Returns sums over usage sessions by day and by key or avatar, for charts, newest day first. A session counts for the day of its creation, in UTC. A page adds up at most 5000 sessions: the next page can continue the same day. Add its sums to those of this page. Only the first page has `conversations`, the usage of conversations on each day.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getUsageSummary"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/settings": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the settings
     * @description Returns the settings of the tenant in the environment of the calling key.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getSettings"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * Change the settings
     * @description Changes the settings of the tenant in the environment of the calling key. Open calls and stored transcripts stay unchanged. Only an owner, or a key to which the operator has given `usage:write`, decides whether transcripts are kept.
     *
     *     Requires the scope `usage:write`, or the session of a person with the role `owner` or a greater one.
     */
    patch: operations["updateSettings"];
    trace?: never;
  };
  "/api/v1/realtime/livekit/session": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Start a call
     * @description Holds credits for a call with an avatar, like `POST /api/v1/usage/sessions`, takes a slot of an avatar worker and creates a LiveKit room. The grant contains the URL and the token with which the person joins. If nobody joins within two minutes, the call ends at no charge. Credits are held for as many seconds as fit: at most `max_session_seconds`, and at least 60, or `max_session_seconds` if that is less. The call ends when the seconds are used. When all slots are in use, the response is 429 without a `code`: the call waits. It keeps its place if the same request is sent again within six seconds.
     *
     *     Requires the scope `realtime:write`.
     */
    post: operations["startCall"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/realtime/livekit/session/resume": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Resume a call
     * @description The person of a call comes back after a reload, or over another network. The call continues in a new room, with its conversation. The grant contains the URL and the token with which the person joins, within 60 seconds. The previous room is deleted, and its tokens are worthless. A call of the calling key or of a descendant that has started can be resumed until it ends: 60 seconds after the person has left, or by a release.
     *
     *     Requires the scope `realtime:write`.
     */
    post: operations["resumeCall"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/realtime/livekit/session/release": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * End a call
     * @description Ends a call of the calling key or of a descendant, or gives up its place in the queue. With the reason `page_hide`, `unmount` or `disconnected`, a call that can be resumed continues, and ends a minute after the person has left its room. The call is charged once, for the reported seconds or, if longer, for the time in which both the avatar and the person were present. A call that was never started costs nothing. The response is the same for an id that is unknown, ended, or of another key.
     *
     *     Requires the scope `realtime:write`.
     */
    post: operations["releaseCall"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/realtime/prepare": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Prepare a call
     * @description An avatar worker loads the avatar, so that the next call with it shows its first picture sooner. Free: it holds no credits and takes no slot. A tenant has one prepared avatar in each environment, the latest, for 60 seconds. A call also works without it, and if another call takes the slot meanwhile.
     *
     *     Requires the scope `realtime:write`.
     */
    post: operations["prepareCall"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/realtime/turns": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Have the avatar say a text
     * @description The call belongs to the calling key or to a descendant, and is running. With `say`, its avatar says the text. With `answer`, it answers the text as if the person had said it. Before the person joins, turns wait. At most 8 turns of a call wait. A turn is said at most once: when its avatar worker is lost, the turn fails.
     *
     *     Requires the scope `realtime:write`.
     */
    post: operations["createTurn"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/realtime/turns/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a turn
     * @description Returns a turn of a call of the calling key or of a descendant, until an hour after it is over. `heard` contains the heard words.
     *
     *     Requires the scope `realtime:write`.
     */
    get: operations["getTurn"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/realtime/interrupt": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Interrupt a call
     * @description Interrupts the avatar, and drops waiting turns. Later turns are said.
     *
     *     Requires the scope `realtime:write`.
     */
    post: operations["interruptCall"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/usage/sessions/{id}/transcript": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the transcript of a call
     * @description Returns the words of both sides, if the tenant kept transcripts when the call began (`PATCH /settings`). While the call is open, returns the words so far.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getTranscript"];
    put?: never;
    post?: never;
    /**
     * Delete the transcript of a call
     * @description Deletes the kept transcript, also of an open call, whose later words are not kept either. The delivery to a `transcript_webhook` continues.
     *
     *     Requires the scope `usage:write`, or the session of a person with the role `owner` or a greater one.
     */
    delete: operations["deleteTranscript"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/sessions/{id}/connection-history": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the connection history of a call
     * @description Returns how well the page of the person was connected, as the page observed it: at most 240 changes. 404 for a call that was started without `connection_history`.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getConnectionHistory"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/recordings": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List recordings
     * @description Returns the recordings of calls, newest first.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listRecordings"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/recordings/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a recording
     * @description Returns the recording of a call. Its file is made after the end of the call: then it is `ready`, and the event `recording.ready` is sent.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getRecording"];
    put?: never;
    post?: never;
    /**
     * Delete a recording
     * @description Deletes the recording. Its file is not served any more, and is deleted within a minute. With its last recording, an open call is recorded no more.
     *
     *     Requires the scope `usage:write`, or the session of a person with the role `owner` or a greater one.
     */
    delete: operations["deleteRecording"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/recordings/{id}/access": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the file of a recording
     * @description Returns a URL that serves the file for an hour, whole or in parts (`Range`). Everyone with the URL can read the file. Ask again when it has expired.
     *
     *     Requires the scope `usage:read`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getRecordingAccess"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/webhook-endpoints": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List webhook endpoints
     * @description Lists the endpoints in the environment of the calling key, newest first.
     *
     *     Requires the scope `*`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listWebhookEndpoints"];
    put?: never;
    /**
     * Add a webhook endpoint
     * @description Adds a URL that receives the events of the environment of the calling key. Only this response contains the secret that verifies them. A person who adds one in the live environment uses the passkey.
     *
     *     Requires the scope `*`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["createWebhookEndpoint"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/webhook-endpoints/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a webhook endpoint
     * @description Returns an endpoint without its secret.
     *
     *     Requires the scope `*`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getWebhookEndpoint"];
    put?: never;
    post?: never;
    /**
     * Delete a webhook endpoint
     * @description Deletes the endpoint and its secrets. Pending deliveries are canceled. Its deliveries can still be read.
     *
     *     Requires the scope `*`, or the session of a person with the role `developer` or a greater one.
     */
    delete: operations["deleteWebhookEndpoint"];
    options?: never;
    head?: never;
    /**
     * Change a webhook endpoint
     * @description Changes the given fields; `events` is replaced as a whole. The change applies to the next attempt of each delivery. Pending deliveries are canceled if the endpoint is disabled or no longer selects the event. With `status: enabled`, a disabled endpoint gets the events from then on. A person who changes the `url` in the live environment uses the passkey.
     *
     *     Requires the scope `*`, or the session of a person with the role `developer` or a greater one.
     */
    patch: operations["updateWebhookEndpoint"];
    trace?: never;
  };
  "/api/v1/webhook-endpoints/{id}/rotate-secret": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Rotate the secret of a webhook endpoint
     * @description Gives the endpoint a new secret. Only this response contains it. For 24 hours, each delivery is signed with both secrets, so that a receiver can change its secret at any time. During that time, the secret cannot be rotated again.
     *
     *     Requires the scope `*`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["rotateWebhookSecret"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/webhook-endpoints/{id}/test": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send a test event
     * @description Sends the event `webhook_endpoint.test` to the endpoint, and waits at most 20 seconds for the attempt. The response is the delivery, with the response of the receiver. The delivery is still `pending` if no worker has sent it in time. All endpoints of an environment with the same host together get 60 tests and resends at once, and then one every two seconds. Further ones get 429 `rate_limited`.
     *
     *     Requires the scope `*`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["testWebhookEndpoint"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/webhook-endpoints/{id}/recover": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send failed deliveries again
     * @description Sends deliveries of the endpoint again, the oldest first: those that were created since then and have failed, were canceled or wait for another attempt. Each starts again with its first attempt. All endpoints of an environment with the same host together get up to 20 of them a second. After 5 failures in a row, or for a new host, a single delivery is tried, and the next one after 1, 2, 4 … minutes, at most an hour, until one succeeds. An endpoint can be recovered once a minute; earlier requests get 429 `rate_limited`.
     *
     *     Requires the scope `*`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["recoverWebhookDeliveries"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/webhook-deliveries": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List webhook deliveries
     * @description Lists the deliveries of the last 30 days in the environment of the calling key, with their attempts, newest first.
     *
     *     Requires the scope `*`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listWebhookDeliveries"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/webhook-deliveries/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a webhook delivery
     * @description Returns a delivery with its attempts and its body.
     *
     *     Requires the scope `*`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getWebhookDelivery"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/webhook-deliveries/{id}/resend": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send a delivery again
     * @description Queues the delivery in any status. It keeps its event and its body, and starts again with its first attempt. Tests and resends share a limit: see the test of an endpoint.
     *
     *     Requires the scope `*`, or the session of a person with the role `developer` or a greater one.
     */
    post: operations["resendWebhookDelivery"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/audit-events": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the audit trail
     * @description Lists changes to keys, avatars and other resources that the calling key may see, newest first. Names are the current ones.
     *
     *     Requires the scope `api_keys:write`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listAuditEvents"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/audit-events.csv": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export the audit trail
     * @description The events of the list as a file. CSV (RFC 4180) in UTF-8, newest first: a row for each item, and a column for each of its fields. Numbers are numbers, null is empty, lists and objects are JSON. A text that a spreadsheet would take for a formula begins with an apostrophe. A file ends after `limit` rows, 64 MiB or five minutes. If more rows follow, its last row says so: its first cell begins with `# NOT COMPLETE` and ends with the `cursor` of the next file. A connection that ends early is reset.
     *
     *     Requires the scope `api_keys:write`, or the session of a person with the role `viewer` or a greater one.
     */
    get: operations["exportAuditEvents"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/leaked-keys": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Report a leaked key
     * @description Revokes the key to which a full secret belongs. Requires no credentials. If a key has rotated itself, its old secret also works for seven days. The response is the same for every secret.
     */
    post: operations["reportLeakedKey"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/invitations/options": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Get options to accept an invitation
     * @description Returns the purpose of an invitation's link, and the options to create a passkey. Requires no credentials. The link stays valid.
     */
    post: operations["beginInvitation"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/invitations/acceptance": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Accept an invitation
     * @description Registers the passkey that the browser has created, and signs in. The link is spent. A link for a new user creates the user with this name. A link for a further passkey of a user gives the passkey this name.
     */
    post: operations["acceptInvitation"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/invitations": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List invitations
     * @description Lists the open invitations of new users, newest first.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listInvitations"];
    put?: never;
    /**
     * Invite a person
     * @description Creates a link with which a person joins the tenant with this role. Only this response contains it. It can be used once, and is valid for 30 minutes unless `lifetimeSeconds` says otherwise. The service sends no mail. Another invitation for the same address replaces it.
     *
     *     Requires the session of a person with the role `owner` or a greater one.
     */
    post: operations["createInvitation"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/invitations/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Withdraw an invitation
     * @description Makes the link of an invitation invalid.
     *
     *     Requires the session of a person with the role `owner` or a greater one.
     */
    delete: operations["deleteInvitation"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/user-sessions/options": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Get options to sign in
     * @description Returns the options to sign in with any passkey of this service, and whether sign-in by OpenID Connect is available. Requires no credentials.
     */
    post: operations["beginSignIn"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/user-sessions": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List sessions of people
     * @description Lists the sessions of the caller, newest first; for an owner, those of the tenant.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listUserSessions"];
    put?: never;
    /**
     * Sign in
     * @description Signs in with the response of a passkey. Requires no credentials. Each response is accepted once.
     */
    post: operations["signIn"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/user-sessions/current": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the current session
     * @description Returns the session of the cookie, with its user and tenant.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getCurrentUserSession"];
    put?: never;
    post?: never;
    /**
     * Sign out
     * @description Ends the session of the cookie, on every replica before the response is sent.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    delete: operations["endCurrentUserSession"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/user-sessions/current/verification/options": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Get options to use the passkey again
     * @description Returns the options to verify the session with a passkey of the caller, and the other ways to verify it.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    post: operations["beginVerification"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/user-sessions/current/verification": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Use the passkey again
     * @description For five minutes, the session may call operations that need the passkey.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    post: operations["verifyUserSession"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/user-sessions/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * End a session
     * @description Ends a session of the caller, or for an owner any session of the tenant, on every replica before the response is sent.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    delete: operations["endUserSession"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/users": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List users
     * @description Lists the people of the tenant, newest first.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listUsers"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/users/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a user
     * @description Returns a person of the tenant.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    get: operations["getUser"];
    put?: never;
    post?: never;
    /**
     * Remove a user
     * @description Removes a person with the passkeys, the sessions and the open invitations. Takes effect on every replica before the response is sent. The keys that the person created stay.
     *
     *     Requires the session of a person with the role `owner` or a greater one.
     */
    delete: operations["deleteUser"];
    options?: never;
    head?: never;
    /**
     * Change a user
     * @description Changes the caller's name. An owner changes the name and the role of any user. A change of role takes effect on every replica before the response is sent.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    patch: operations["updateUser"];
    trace?: never;
  };
  "/api/v1/passkeys/invitations": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Get a link for another device
     * @description Creates a link with which the caller registers a passkey on another device. It is valid for 30 minutes and can be used once.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    post: operations["createPasskeyInvitation"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/passkeys": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the own passkeys
     * @description Lists the passkeys of the caller, newest first.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listPasskeys"];
    put?: never;
    /**
     * Add a passkey
     * @description Registers a further passkey of the caller. A person has at most 20.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    post: operations["createPasskey"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/passkeys/options": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Get options to add a passkey
     * @description Returns the options to create a further passkey of the caller.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    post: operations["beginPasskey"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/passkeys/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Delete a passkey
     * @description Deletes a passkey of the caller, and ends the other sessions that it has opened. A passkey that is the last way to sign in cannot be deleted.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    delete: operations["deletePasskey"];
    options?: never;
    head?: never;
    /**
     * Rename a passkey
     * @description Renames a passkey of the caller.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    patch: operations["updatePasskey"];
    trace?: never;
  };
  "/api/v1/oidc/sign-in": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Begin to sign in by OpenID Connect
     * @description Begins a sign-in to a tenant. Requires no credentials. The response contains the address of the provider, to which the page redirects the browser. Its cookie binds the attempt to the browser for ten minutes. Without a provider, the response is 404.
     */
    post: operations["beginOidcSignIn"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/oidc/acceptance": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Begin to accept an invitation by OpenID Connect
     * @description Begins the acceptance of an invitation with an account at the provider, in place of a passkey. The link stays valid until the provider redirects back. `name` is the name of a new user. Requires no credentials. The response contains the address of the provider, to which the page redirects the browser. Its cookie binds the attempt to the browser for ten minutes. Without a provider, the response is 404.
     */
    post: operations["beginOidcAcceptance"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/oidc/callback": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Come back from the provider
     * @description The provider redirects the browser here. Ends the attempt of the cookie, once, and redirects to a page of the dashboard: with a new session after a sign-in, or to the sign-in page with the code of a failure. Unknown parameters are ignored. A repeated parameter is a failure.
     */
    get: operations["endOidcAttempt"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/oidc/identity": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Begin to link an identity
     * @description Begins to link an account at the provider to the caller. The response contains the address of the provider, to which the page redirects the browser. Its cookie binds the attempt to the browser for ten minutes. Without a provider, the response is 404.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    post: operations["beginOidcIdentity"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/oidc/verification": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Begin to verify the session by OpenID Connect
     * @description Begins a verification of the session: the provider prompts the person again. For five minutes after it, the session may call operations that need the passkey. The response contains the address of the provider, to which the page redirects the browser. Its cookie binds the attempt to the browser for ten minutes. Without a provider, the response is 404.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    post: operations["beginOidcVerification"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/identities": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the own identities
     * @description Lists the caller's accounts at an OpenID Connect provider, newest first.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    get: operations["listIdentities"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/identities/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Unlink an identity
     * @description Unlinks an identity of the caller, and ends the other sessions that it has opened. An identity that is the last way to sign in cannot be unlinked.
     *
     *     Requires the session of a person with the role `viewer` or a greater one.
     */
    delete: operations["deleteIdentity"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/problems/{code}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Explain a problem
     * @description Explains a problem: when it occurs, and what the caller can do. The address of this operation is the `type` of the problem. Browsers get HTML.
     */
    get: operations["getProblemType"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface webhooks {
  "api_key.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * api_key.created
     * @description A key was created.
     */
    post: operations["onApiKeyCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "api_key.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * api_key.updated
     * @description The name, the scopes or the limits of a key were changed.
     */
    post: operations["onApiKeyUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "api_key.rotated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * api_key.rotated
     * @description A key got a new secret.
     */
    post: operations["onApiKeyRotated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "api_key.revoked": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * api_key.revoked
     * @description A key was revoked, with its descendants.
     */
    post: operations["onApiKeyRevoked"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "api_key.reported_leaked": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * api_key.reported_leaked
     * @description A key was revoked, because its secret was reported as leaked.
     */
    post: operations["onApiKeyReportedLeaked"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "api_key.spend_limit_reached": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * api_key.spend_limit_reached
     * @description A key has spent 80 % of its spend cap, or all of it. Sent once for each.
     */
    post: operations["onApiKeySpendLimitReached"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "api_key.expiring": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * api_key.expiring
     * @description A key expires in seven days, or in one day. Sent once for each.
     */
    post: operations["onApiKeyExpiring"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "avatar.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * avatar.created
     * @description An avatar was created.
     */
    post: operations["onAvatarCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "avatar.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * avatar.updated
     * @description An avatar was changed, or its preparation was started again.
     */
    post: operations["onAvatarUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "avatar.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * avatar.deleted
     * @description An avatar was deleted.
     */
    post: operations["onAvatarDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "avatar.prepared": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * avatar.prepared
     * @description A preparation has succeeded: the avatar is `ready`, or has new data.
     */
    post: operations["onAvatarPrepared"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "avatar.preparation_failed": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * avatar.preparation_failed
     * @description A preparation has failed; `error` and `checks` say why.
     */
    post: operations["onAvatarPreparationFailed"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "asset.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * asset.created
     * @description An asset was created.
     */
    post: operations["onAssetCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "asset.uploaded": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * asset.uploaded
     * @description The file of an asset has arrived, and is examined next.
     */
    post: operations["onAssetUploaded"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "asset.ready": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * asset.ready
     * @description The file of an asset was examined, and can be used.
     */
    post: operations["onAssetReady"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "asset.failed": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * asset.failed
     * @description The file of an asset was refused, or did not arrive; `error` says why.
     */
    post: operations["onAssetFailed"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "asset.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * asset.deleted
     * @description An asset was deleted.
     */
    post: operations["onAssetDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "credits.granted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * credits.granted
     * @description The operator has granted credits.
     */
    post: operations["onCreditsGranted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "credits.voided": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * credits.voided
     * @description The operator has voided credits.
     */
    post: operations["onCreditsVoided"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "credits.adjusted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * credits.adjusted
     * @description The operator has adjusted what a session was charged.
     */
    post: operations["onCreditsAdjusted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "credits.limit_changed": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * credits.limit_changed
     * @description The limit of open sessions, or the threshold of `credits.low`, was changed.
     */
    post: operations["onCreditsLimitChanged"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "credits.low": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * credits.low
     * @description The available credits fell below the threshold of the tenant. Sent once until they rise above it.
     */
    post: operations["onCreditsLow"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "credits.exhausted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * credits.exhausted
     * @description A session was refused for lack of credits. Sent once an hour at most.
     */
    post: operations["onCreditsExhausted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "usage_session.opened": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * usage_session.opened
     * @description A session was opened; it holds credits.
     */
    post: operations["onUsageSessionOpened"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "usage_session.started": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * usage_session.started
     * @description The first usage of a session was reported.
     */
    post: operations["onUsageSessionStarted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "usage_session.ended": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * usage_session.ended
     * @description A session has ended, and was charged.
     */
    post: operations["onUsageSessionEnded"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "video.ready": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * video.ready
     * @description A video was rendered: `assetId` names its file.
     */
    post: operations["onVideoReady"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "video.failed": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * video.failed
     * @description A video has failed, and was not charged; `error` says why.
     */
    post: operations["onVideoFailed"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "recording.ready": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * recording.ready
     * @description The file of a recording of a call can be read.
     */
    post: operations["onRecordingReady"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "recording.failed": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * recording.failed
     * @description A recording of a call has failed; `errorCode` says why.
     */
    post: operations["onRecordingFailed"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "webhook_endpoint.disabled": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * webhook_endpoint.disabled
     * @description Another endpoint was disabled: it responded with 410, failed for five days, or was stopped by the operator.
     */
    post: operations["onWebhookEndpointDisabled"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "webhook_endpoint.test": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * webhook_endpoint.test
     * @description You have asked for a test of the endpoint.
     */
    post: operations["onWebhookEndpointTest"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface components {
  schemas: {
    AcceptInvitation: {
      /** @description The part of the link after `#`. */
      token: string;
      /** @description Human-readable name. */
      name: string;
      /** @description The response of the authenticator, as WebAuthn writes it (`RegistrationResponseJSON` or `AuthenticationResponseJSON`). */
      credential: {
        [key: string]: unknown;
      };
    };
    ApiKey: {
      /** @description Id of the key. A rotation does not change it. */
      id: string;
      /** @description Public identifier of the newest credential; safe to log. */
      keyId: string;
      tenantId: string;
      /** @description Id of the key that created this key; null for a root key, which a person or the operator created. */
      parentId: string | null;
      /** @description Human-readable name. */
      name: string;
      /**
       * @description Live and test resources are separate: a test key cannot see live resources.
       * @enum {string}
       */
      environment: "live" | "test";
      /** @description The key without its secret; safe to show. */
      redactedKey: string;
      /** @description The operations that the key may perform. `*` includes every scope except `usage:write`; no other scope implies another. Duplicates are stored once. */
      scopes: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /**
       * @description A key is also `revoked` or `expired` when one of its ancestors is.
       * @enum {string}
       */
      status: "active" | "revoked" | "expired";
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros: number | null;
      /** @description The lowest spend cap of the key and its ancestors in the same environment, in credit micros; null means no cap. */
      effectiveSpendLimitCreditMicros: number | null;
      /** @description Credits spent by sessions of the key and its descendants in the same environment, in credit micros. */
      spentCreditMicros: number;
      /** @description Credits held by open sessions of the key and its descendants in the same environment, in credit micros. */
      reservedCreditMicros: number;
      /** @description Maximum number of open sessions of the key and its descendants in the same environment; null means that only the limit of the tenant applies. */
      maxConcurrentSessions: number | null;
      /** @description The lowest `maxConcurrentSessions` of the key and its ancestors in the same environment; null means that only the limit of the tenant applies. */
      effectiveMaxConcurrentSessions: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt: string | null;
      /** @description The earliest expiry of the key and its ancestors; null means never. */
      effectiveExpiresAt: string | null;
      /** @description Time of the last use, to the minute; null before the first use. */
      lastUsedAt: string | null;
      /** Format: date-time */
      createdAt: string;
    };
    ApiKeyPage: {
      total?: {
        /** @description How many were counted, at most 10000. */
        count: number;
        /** @description Whether `count` is the full number; otherwise there are more. */
        isExact: boolean;
      };
      data: components["schemas"]["ApiKeyWithCreator"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    ApiKeyWithCreator: {
      /** @description Id of the key. A rotation does not change it. */
      id: string;
      /** @description Public identifier of the newest credential; safe to log. */
      keyId: string;
      tenantId: string;
      /** @description Id of the key that created this key; null for a root key, which a person or the operator created. */
      parentId: string | null;
      /** @description Human-readable name. */
      name: string;
      /**
       * @description Live and test resources are separate: a test key cannot see live resources.
       * @enum {string}
       */
      environment: "live" | "test";
      /** @description The key without its secret; safe to show. */
      redactedKey: string;
      /** @description The operations that the key may perform. `*` includes every scope except `usage:write`; no other scope implies another. Duplicates are stored once. */
      scopes: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /**
       * @description A key is also `revoked` or `expired` when one of its ancestors is.
       * @enum {string}
       */
      status: "active" | "revoked" | "expired";
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros: number | null;
      /** @description The lowest spend cap of the key and its ancestors in the same environment, in credit micros; null means no cap. */
      effectiveSpendLimitCreditMicros: number | null;
      /** @description Credits spent by sessions of the key and its descendants in the same environment, in credit micros. */
      spentCreditMicros: number;
      /** @description Credits held by open sessions of the key and its descendants in the same environment, in credit micros. */
      reservedCreditMicros: number;
      /** @description Maximum number of open sessions of the key and its descendants in the same environment; null means that only the limit of the tenant applies. */
      maxConcurrentSessions: number | null;
      /** @description The lowest `maxConcurrentSessions` of the key and its ancestors in the same environment; null means that only the limit of the tenant applies. */
      effectiveMaxConcurrentSessions: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt: string | null;
      /** @description The earliest expiry of the key and its ancestors; null means never. */
      effectiveExpiresAt: string | null;
      /** @description Time of the last use, to the minute; null before the first use. */
      lastUsedAt: string | null;
      /** Format: date-time */
      createdAt: string;
      /** @description Id of the key or the user that created the key; null: the operator of the service. */
      createdBy: string | null;
      /** @description The name that the key or the user of `createdBy` has now; null without one, or when the name cannot be shown. */
      createdByName: string | null;
    };
    ApiKeyWithSecret: {
      /** @description Id of the key. A rotation does not change it. */
      id: string;
      /** @description Public identifier of the newest credential; safe to log. */
      keyId: string;
      tenantId: string;
      /** @description Id of the key that created this key; null for a root key, which a person or the operator created. */
      parentId: string | null;
      /** @description Human-readable name. */
      name: string;
      /**
       * @description Live and test resources are separate: a test key cannot see live resources.
       * @enum {string}
       */
      environment: "live" | "test";
      /** @description The key without its secret; safe to show. */
      redactedKey: string;
      /** @description The operations that the key may perform. `*` includes every scope except `usage:write`; no other scope implies another. Duplicates are stored once. */
      scopes: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /**
       * @description A key is also `revoked` or `expired` when one of its ancestors is.
       * @enum {string}
       */
      status: "active" | "revoked" | "expired";
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros: number | null;
      /** @description The lowest spend cap of the key and its ancestors in the same environment, in credit micros; null means no cap. */
      effectiveSpendLimitCreditMicros: number | null;
      /** @description Credits spent by sessions of the key and its descendants in the same environment, in credit micros. */
      spentCreditMicros: number;
      /** @description Credits held by open sessions of the key and its descendants in the same environment, in credit micros. */
      reservedCreditMicros: number;
      /** @description Maximum number of open sessions of the key and its descendants in the same environment; null means that only the limit of the tenant applies. */
      maxConcurrentSessions: number | null;
      /** @description The lowest `maxConcurrentSessions` of the key and its ancestors in the same environment; null means that only the limit of the tenant applies. */
      effectiveMaxConcurrentSessions: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt: string | null;
      /** @description The earliest expiry of the key and its ancestors; null means never. */
      effectiveExpiresAt: string | null;
      /** @description Time of the last use, to the minute; null before the first use. */
      lastUsedAt: string | null;
      /** Format: date-time */
      createdAt: string;
      /** @description The full secret. Only this response contains it: store it now. */
      apiKey: string;
    };
    Asset: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /**
       * @description Kind of the file.
       * @enum {string}
       */
      kind: "image" | "video" | "audio";
      /**
       * @description Where the file is from. `generated`: the file of a video, which the service has rendered.
       * @enum {string}
       */
      origin: "uploaded" | "imported" | "generated";
      /** @enum {string} */
      status: "pending_upload" | "uploaded" | "processing" | "ready" | "failed" | "deleted";
      /** @description Null until the file is known. */
      contentType: string | null;
      /** @description Null until the file is known. */
      sizeBytes: number | null;
      /** @description SHA-256 of the file in hexadecimal; null until it is known. */
      sha256: string | null;
      /** @description Public address of the re-encoded image. It is 404 before the asset is `ready`, and for video and audio that was uploaded or imported. Of a generated video it is the file itself. */
      publicUrl: string;
      /** @description Why the asset is `failed`; otherwise null. */
      error: {
        /** @description One of: unsupported_type, asset_kind_mismatch, content_type_mismatch, empty, too_large, not_decodable, inspection_failed, too_many_pixels, too_many_frames, no_video_track, resolution_too_high, frame_rate_too_high, no_audio_track, unexpected_video_track, codec_not_allowed, too_short, too_long, invalid_url, https_required, credentials_not_allowed, port_not_allowed, ip_address_not_allowed, host_not_public, host_not_found, connection_failed, connection_lost, timed_out, canceled, certificate_not_valid, too_many_redirects, unexpected_status, invalid_response, encoding_not_allowed, not_uploaded, internal. Later versions may add others. */
        code: string;
        /** @description The problem with the file, and how a person can solve it. */
        detail: string;
      } | null;
      originalFilename: string | null;
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
    };
    AssetPage: {
      data: components["schemas"]["Asset"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    AssetWithUpload: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /**
       * @description Kind of the file.
       * @enum {string}
       */
      kind: "image" | "video" | "audio";
      /**
       * @description Where the file is from. `generated`: the file of a video, which the service has rendered.
       * @enum {string}
       */
      origin: "uploaded" | "imported" | "generated";
      /** @enum {string} */
      status: "pending_upload" | "uploaded" | "processing" | "ready" | "failed" | "deleted";
      /** @description Null until the file is known. */
      contentType: string | null;
      /** @description Null until the file is known. */
      sizeBytes: number | null;
      /** @description SHA-256 of the file in hexadecimal; null until it is known. */
      sha256: string | null;
      /** @description Public address of the re-encoded image. It is 404 before the asset is `ready`, and for video and audio that was uploaded or imported. Of a generated video it is the file itself. */
      publicUrl: string;
      /** @description Why the asset is `failed`; otherwise null. */
      error: {
        /** @description One of: unsupported_type, asset_kind_mismatch, content_type_mismatch, empty, too_large, not_decodable, inspection_failed, too_many_pixels, too_many_frames, no_video_track, resolution_too_high, frame_rate_too_high, no_audio_track, unexpected_video_track, codec_not_allowed, too_short, too_long, invalid_url, https_required, credentials_not_allowed, port_not_allowed, ip_address_not_allowed, host_not_public, host_not_found, connection_failed, connection_lost, timed_out, canceled, certificate_not_valid, too_many_redirects, unexpected_status, invalid_response, encoding_not_allowed, not_uploaded, internal. Later versions may add others. */
        code: string;
        /** @description The problem with the file, and how a person can solve it. */
        detail: string;
      } | null;
      originalFilename: string | null;
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
      upload: {
        /** @enum {string} */
        method: "PUT";
        url: string;
        /** @description Headers to send, exactly. */
        headers: {
          [key: string]: unknown;
        };
        /**
         * Format: date-time
         * @description The store refuses the file from this moment on.
         */
        expiresAt: string;
      };
    };
    AuditEvent: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @enum {string} */
      action:
        | "api_key.created"
        | "api_key.updated"
        | "api_key.rotated"
        | "api_key.revoked"
        | "api_key.reported_leaked"
        | "avatar.created"
        | "avatar.updated"
        | "avatar.deleted"
        | "avatar.prepared"
        | "avatar.preparation_failed"
        | "asset.created"
        | "asset.uploaded"
        | "asset.ready"
        | "asset.failed"
        | "asset.deleted"
        | "user.created"
        | "user.updated"
        | "user.deleted"
        | "user_session.created"
        | "user_session.verified"
        | "user_session.ended"
        | "invitation.created"
        | "invitation.deleted"
        | "passkey.created"
        | "passkey.updated"
        | "passkey.deleted"
        | "identity.created"
        | "identity.deleted"
        | "credits.granted"
        | "credits.voided"
        | "credits.adjusted"
        | "credits.limit_changed"
        | "webhook_endpoint.created"
        | "webhook_endpoint.updated"
        | "webhook_endpoint.deleted"
        | "webhook_endpoint.secret_rotated"
        | "webhook_endpoint.disabled"
        | "usage_session.ended"
        | "settings.updated"
        | "transcript.deleted"
        | "recording.deleted";
      targetId: string;
      /** @description The name that the target has now; null without one, or when the name cannot be shown. */
      targetName: string | null;
      /** @description Names of the fields that an update changed; never their values. */
      changedFields: string[];
      /** @description The actor: a key or a person; null: the operator, the service or the holder of a leaked secret. */
      actorType: ("api_key" | "user") | null;
      /** @description Id of the key or the user that acted; null if `actorType` is. */
      actorId: string | null;
      /** @description The name that the actor has now; null without one, or when the name cannot be shown. */
      actorName: string | null;
      /** @description `keyId` of the credential that the actor used; null if the actor was not a key. */
      actorKeyId: string | null;
      /** @description The `X-Request-Id` of the response. */
      requestId: string;
      /** Format: date-time */
      createdAt: string;
    };
    AuditEventPage: {
      total?: {
        /** @description How many were counted, at most 10000. */
        count: number;
        /** @description Whether `count` is the full number; otherwise there are more. */
        isExact: boolean;
      };
      data: components["schemas"]["AuditEvent"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    Avatar: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description Human-readable name. */
      displayName: string;
      /**
       * @description Kind of the source from which the avatar is built.
       * @enum {string}
       */
      sourceKind: "image" | "video";
      /** @description Id of the model that renders the avatar. */
      modelId: string;
      /**
       * @description A new avatar with a source is `preprocessing`; one without is a `draft`.
       * @enum {string}
       */
      status: "draft" | "preprocessing" | "ready" | "failed" | "disabled" | "deleted";
      /** @description The source that is served, or is being prepared. */
      sourceAssetId: string | null;
      /** @description The new source of an avatar that goes on serving the present one until the new one is ready. */
      pendingSourceAssetId: string | null;
      defaultVoiceId: string | null;
      /** @description Why the latest preparation failed, and how to solve it; otherwise null. */
      error: string | null;
      /** @description The checks of the latest preparation. */
      checks: components["schemas"]["Check"][];
      /** @description Public address of a picture of the avatar; null before the first preparation. With `/picture` at its end: the whole picture, as a call shows it. */
      previewUrl: string | null;
      /** @description Address of a moving picture of the avatar, without sound: an animated WebP of two seconds, or a still picture of an avatar without a face. null before the first preparation. */
      animatedPreviewUrl: string | null;
      /** @description Id of the data that was prepared for calls; null before the first preparation. */
      cacheManifestId: string | null;
      /** @description Incremented by each preparation; 0 before the first. */
      cacheVersion: number;
      /** @description Settings for the platform, at most 32768 bytes as compact JSON in UTF-8. */
      settings: {
        [key: string]: unknown;
      };
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
    };
    AvatarPage: {
      total?: {
        /** @description How many were counted, at most 10000. */
        count: number;
        /** @description Whether `count` is the full number; otherwise there are more. */
        isExact: boolean;
      };
      data: components["schemas"]["Avatar"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    BeginOidcAcceptance: {
      /** @description The part of the link after `#`. */
      token: string;
      /** @description Human-readable name. */
      name: string;
    };
    BeginOidcSignIn: {
      tenantId: string;
    };
    BeginOidcVerification: {
      /**
       * @description The page of the dashboard to which the browser returns.
       * @enum {string}
       */
      returnTo: "/" | "/keys" | "/avatars" | "/videos" | "/usage" | "/webhooks" | "/audit" | "/people";
    };
    CallGrant: {
      /** @enum {string} */
      status: "ready";
      session_id: string;
      room_name: string;
      /** @description The LiveKit server. */
      livekit_url: string;
      /** @description A secret: its holder can join the call. */
      participant_token: string;
      participant_identity: string;
      /**
       * Format: date-time
       * @description When the call ends without a charge, unless the person has joined.
       */
      reservation_expires_at: string;
      /** @enum {string} */
      stt_mode: "server" | "off";
      room_created: boolean;
      dispatch_created: boolean;
      join_timeout_seconds: number;
      idle_timeout_seconds: number;
      /** @description The maximum length of the call: `held_seconds`, or the requested length if the hold grows. */
      max_session_seconds: number;
      /** @description For how many seconds credits are held now. */
      held_seconds: number;
      /** @description The price of a second: that of a conversation where the avatar answers, else that of a call. */
      price_credit_micros_per_second: number;
      /**
       * @description Only of a call that is recorded.
       * @enum {string}
       */
      recording_mode?: "audio" | "audio_video" | "participants";
      recording?: components["schemas"]["Recording"];
      /** @description The recordings of a recorded call. `recording`: set if the call has only one. */
      recordings?: components["schemas"]["Recording"][];
      connection_history?: components["schemas"]["ConnectionHistoryGrant"];
      /** @description Fields of the request that the renderer cannot use. */
      ignored: ("instructions" | "initial_context" | "voice" | "llm" | "transcription" | "capabilities")[];
    };
    Check: {
      /**
       * @description The name of the check. `GET /models` lists the requirements.
       * @enum {string}
       */
      code:
        | "decodable"
        | "single_frame"
        | "codec"
        | "duration"
        | "frame_rate"
        | "resolution"
        | "frame"
        | "face_count"
        | "face_confidence"
        | "face_size"
        | "face_yaw"
        | "face_pitch"
        | "cropped"
        | "sharpness"
        | "brightness";
      /**
       * @description `warn`: the avatar can be used, but may look worse.
       * @enum {string}
       */
      verdict: "pass" | "warn" | "fail";
      /** @description The measured value; null for a check without a number. */
      measured: number | null;
      /** @description The bound that decided, in the unit of `measured`. */
      limit: number | null;
      /** @description The measured value, the requirement, and how to meet it. */
      detail: string;
    };
    CompleteUpload: Record<string, never>;
    ConnectionHistory: {
      sessionId: string;
      observations: components["schemas"]["ConnectionObservation"][];
    };
    ConnectionHistoryGrant: {
      /** @description The https URL that takes them, by POST. */
      endpoint: string;
      /** @description A secret for this call alone. */
      token: string;
      /** Format: date-time */
      expiresAt: string;
    };
    ConnectionObservation: {
      sequence: number;
      /** @description Milliseconds since the first page was opened. */
      elapsedMs: number;
      /** @description The time by the clock of the page. */
      clientObservedAt: string | null;
      /**
       * @description The state of the connection to LiveKit.
       * @enum {string}
       */
      connectionState: "disconnected" | "connecting" | "connected" | "reconnecting" | "signalReconnecting";
      /** @enum {string} */
      localQuality: "excellent" | "good" | "poor" | "lost" | "unknown";
      /** @description The quality of the avatar's sound; null without sound. */
      audioQuality: ("excellent" | "good" | "poor" | "lost" | "unknown") | null;
      /** @description The quality of the avatar's picture; null without a picture. */
      videoQuality: ("excellent" | "good" | "poor" | "lost" | "unknown") | null;
    };
    ConversationSum: {
      /** @description The day in UTC on which it was reported. */
      day: string;
      /** @description Tokens that language models have read. */
      inputTokens: number;
      /** @description Tokens that they have written. */
      outputTokens: number;
      /** @description The part of both counts that a server did not report. It is estimated. */
      estimatedTokens: number;
      /** @description Seconds of sound that were sent to recognizers. */
      heardSeconds: number;
      /** @description Characters that were sent to voices. */
      spokenCharacters: number;
    };
    CreateApiKey: {
      /** @description Human-readable name. */
      name: string;
      /**
       * @description Live and test resources are separate: a test key cannot see live resources.
       * @enum {string}
       */
      environment?: "live" | "test";
      /** @description The operations that the key may perform. `*` includes every scope except `usage:write`; no other scope implies another. Duplicates are stored once. */
      scopes?: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros?: number | null;
      /** @description Maximum number of open sessions of the key and its descendants in the same environment; null means that only the limit of the tenant applies. */
      maxConcurrentSessions?: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt?: string | null;
    };
    CreateAvatar: {
      /** @description Human-readable name. */
      displayName: string;
      /**
       * @description Kind of the source from which the avatar is built.
       * @enum {string}
       */
      sourceKind: "image" | "video";
      /** @description Id of the model that renders the avatar. */
      modelId?: string;
      /** @description Id of the source image or video. */
      sourceAssetId?: string;
      /** @description Id of the voice for calls that specify none. `GET /voices` lists them. */
      defaultVoiceId?: string;
      /** @description Settings for the platform, at most 32768 bytes as compact JSON in UTF-8. */
      settings?: {
        [key: string]: unknown;
      };
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata?: {
        [key: string]: unknown;
      };
    };
    CreateInvitation: {
      /** @description The address is a name: the service sends no mail. Stored in lower case and in its compatibility form (NFKC), so that look-alikes such as fullwidth letters are one address. White space, and characters that are not seen, are refused. */
      email: string;
      /**
       * @description `viewer` reads; `developer` also writes keys, assets and avatars; `owner` also manages people.
       * @enum {string}
       */
      role: "viewer" | "developer" | "owner";
      /** @description How many seconds the link is valid. Without it: 1800. */
      lifetimeSeconds?: number;
    };
    CreatePasskey: {
      /** @description The response of the authenticator, as WebAuthn writes it (`RegistrationResponseJSON` or `AuthenticationResponseJSON`). */
      credential: {
        [key: string]: unknown;
      };
      /** @description Human-readable name. */
      name: string;
    };
    CreateRemoteAsset: {
      /**
       * @description Kind of the file.
       * @enum {string}
       */
      kind: "image" | "video" | "audio";
      /** @description The https URL of the file, on port 443 or 8443, without credentials, in ASCII. Its host is a public name, not an address. */
      remoteUrl: string;
      /** @description Name of the file, for your own use. */
      originalFilename?: string;
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata?: {
        [key: string]: unknown;
      };
    };
    CreateTurn: {
      /** @description The call. */
      session_id: string;
      /**
       * @description `say`: the avatar says these words. `answer`: it answers the text as if the person had said it, which needs a language model.
       * @enum {string}
       */
      kind: "say" | "answer";
      /** @description The text to say. Markup, links and emoji are not spoken. */
      text: string;
      /** @description How to answer this turn. Only for `answer`. */
      instructions?: string;
      /** @description Default: true, which ends what the avatar is saying, and drops the turns that wait. false: the turn waits until the avatar is silent. */
      interrupt?: boolean;
    };
    CreateUpload: {
      /**
       * @description Kind of the file.
       * @enum {string}
       */
      kind: "image" | "video" | "audio";
      /**
       * @description Media type of the file: one of its kind.
       * @enum {string}
       */
      contentType:
        | "image/jpeg"
        | "image/png"
        | "image/webp"
        | "video/mp4"
        | "video/quicktime"
        | "video/webm"
        | "audio/mpeg"
        | "audio/wav"
        | "audio/mp4"
        | "audio/aac"
        | "audio/ogg"
        | "audio/flac";
      /** @description Size of the file: at most that of its kind. */
      sizeBytes: number;
      /** @description MD5 of the file in base64, as in `Content-MD5`. */
      md5: string;
      /** @description Name of the file, for your own use. */
      originalFilename?: string;
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata?: {
        [key: string]: unknown;
      };
    };
    CreateUsageSession: {
      /** @description The avatar of the call. It must be `ready`. */
      avatarId?: string;
      /** @description Credits are held for at most these seconds, as far as the balance and limits allow. */
      maxSessionSeconds: number;
      /** @description Credits for at least this many seconds are held. Default: `maxSessionSeconds`. */
      minSessionSeconds?: number;
      /** @description Your own data: at most 16 strings of at most 500 characters, with names of 1 to 40 characters. `user_id` names the end user: the list of sessions filters by it. */
      metadata?: {
        [key: string]: string;
      };
    };
    CreateVideo: {
      /** @description The avatar. It must be `ready`. */
      avatarId: string;
      /** @description The text that the avatar speaks. Markup, links and emoji are not spoken. */
      text?: string;
      /** @description Id of an asset of the kind `audio`, of at most 600 seconds, in the place of `text`. */
      audioAssetId?: string;
      /** @description Id of the voice that says the text. */
      voiceId?: string;
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. A `user_id` that is text is also that of the usage session. */
      metadata?: {
        [key: string]: unknown;
      };
    };
    CreateWebhookEndpoint: {
      url: string | null;
      description?: string | null;
      events?:
        | (
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring"
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed"
            | "asset.created"
            | "asset.uploaded"
            | "asset.ready"
            | "asset.failed"
            | "asset.deleted"
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted"
            | "usage_session.opened"
            | "usage_session.started"
            | "usage_session.ended"
            | "video.ready"
            | "video.failed"
            | "recording.ready"
            | "recording.failed"
            | "webhook_endpoint.disabled"
            | "webhook_endpoint.test"
            | "api_key.*"
            | "avatar.*"
            | "asset.*"
            | "credits.*"
            | "usage_session.*"
            | "video.*"
            | "recording.*"
            | "webhook_endpoint.*"
          )[]
        | null;
      /** @description Whether an event waits until the earlier events of the same resource were delivered or have failed. Otherwise order is not promised: compare `sequence`. */
      ordered?: boolean;
    };
    CreditBalance: {
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description Available credits plus credits held by open sessions. */
      balanceCreditMicros: number;
      /** @description Credits held by open sessions. */
      reservedCreditMicros: number;
      /** @description Credits that new sessions can hold. */
      availableCreditMicros: number;
      /** @description All granted credits, less voided credits. */
      lifetimeGrantedCreditMicros: number;
      /** @description Charges of sessions, less refunds. */
      lifetimeUsedCreditMicros: number;
      /** @description The event `credits.low` is sent when less than this becomes available; null: never. */
      lowThresholdCreditMicros: number | null;
      /** Format: date-time */
      updatedAt: string;
    };
    CreditEntry: {
      id: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @enum {string} */
      kind: "grant" | "hold" | "settle" | "release" | "expire" | "void" | "adjust";
      amountCreditMicros: number;
      sessionId: string | null;
      /** @description The key that opened the session. */
      apiKeyId: string | null;
      /** @description The name that the key has now; null without one, or when the name cannot be shown. */
      apiKeyName: string | null;
      /** @description At the end of a session: the key that reported its usage last. */
      reportedBy: string | null;
      /** @description The name that the key of `reportedBy` has now; null without one, or when the name cannot be shown. */
      reportedByName: string | null;
      /** @description At the end of a session: the key that ended it, or `sweep` for the service. */
      closedBy: string | null;
      /** @description The name that the key of `closedBy` has now; null without one, or when the name cannot be shown. */
      closedByName: string | null;
      reference: string | null;
      requestId: string;
      /** Format: date-time */
      createdAt: string;
    };
    CreditEntryPage: {
      total?: {
        /** @description How many were counted, at most 10000. */
        count: number;
        /** @description Whether `count` is the full number; otherwise there are more. */
        isExact: boolean;
      };
      data: components["schemas"]["CreditEntry"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    CurrentSession: {
      id: string;
      /**
       * Format: date-time
       * @description The session ends at this time.
       */
      expiresAt: string;
      /**
       * Format: date-time
       * @description The session ends at this time, unless there is another request before.
       */
      idleExpiresAt: string;
      /**
       * Format: date-time
       * @description Until this time, operations that ask for the passkey again are allowed.
       */
      verifiedUntil: string;
      user: components["schemas"]["User"];
      tenant: {
        id: string;
        name: string;
      };
    };
    DeletedRecording: {
      recordingId: string;
      /** @enum {string} */
      status: "deleted";
    };
    DeliveryAttempt: {
      /** Format: date-time */
      at: string;
      /** @description The status of the response. */
      status: number | null;
      /** @description Why there is no response: one of host_not_found, host_not_public, invalid_url, connection_failed, certificate_not_valid, invalid_response, timed_out. Later versions may add others. */
      error: string | null;
      /** @description Milliseconds until the response, or until the attempt was given up. */
      durationMs: number;
      /** @description The first 512 bytes of the response as text. */
      responseBody: string | null;
    };
    Identity: {
      id: string;
      /** @description The provider. */
      issuer: string;
      /** @description The provider's id of the account. */
      subject: string;
      /** Format: date-time */
      createdAt: string;
      /** @description Time of the last sign-in or verification with it. */
      lastUsedAt: string | null;
    };
    IdentityPage: {
      data: components["schemas"]["Identity"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    InterruptCall: {
      /** @description The call. */
      session_id: string;
    };
    InterruptedCall: {
      session_id: string;
    };
    Invitation: {
      id: string;
      email: string;
      /**
       * @description `viewer` reads; `developer` also writes keys, assets and avatars; `owner` also manages people.
       * @enum {string}
       */
      role: "viewer" | "developer" | "owner";
      /** Format: date-time */
      expiresAt: string;
      /** Format: date-time */
      createdAt: string;
    };
    InvitationOptions: {
      tenant: {
        id: string;
        name: string;
      };
      email: string;
      /**
       * @description `viewer` reads; `developer` also writes keys, assets and avatars; `owner` also manages people.
       * @enum {string}
       */
      role: "viewer" | "developer" | "owner";
      /** @description Whether it creates a user; otherwise it is for a user who exists. */
      isNewUser: boolean;
      /** @description Options for `navigator.credentials` in the JSON form of WebAuthn. */
      publicKey: {
        [key: string]: unknown;
      };
      /** @description The provider with which people sign in by OpenID Connect; null without one. */
      oidc: {
        /** @description The name of the provider, for people. */
        name: string;
      } | null;
    };
    InvitationOptionsRequest: {
      /** @description The part of the link after `#`. */
      token: string;
    };
    InvitationPage: {
      data: components["schemas"]["Invitation"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    InvitationWithUrl: {
      id: string;
      email: string;
      /**
       * @description `viewer` reads; `developer` also writes keys, assets and avatars; `owner` also manages people.
       * @enum {string}
       */
      role: "viewer" | "developer" | "owner";
      /** Format: date-time */
      expiresAt: string;
      /** Format: date-time */
      createdAt: string;
      /** @description The link. Only this response contains it. It can be used once. */
      url: string;
    };
    LeakedKeyReport: {
      /** @constant */
      status: "accepted";
    };
    Model: {
      /** @description The `modelId` of avatars. */
      id: string;
      /** @description Whether this is the default model. */
      isDefault: boolean;
      requirements: {
        image: components["schemas"]["SourceRequirement"][];
        video: components["schemas"]["SourceRequirement"][];
      };
    };
    ModelPage: {
      data: components["schemas"]["Model"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    NoFields: Record<string, never>;
    Nothing: Record<string, never>;
    OidcRedirect: {
      /** @description The address of the provider, to which the page leads. */
      url: string;
    };
    Passkey: {
      id: string;
      /** @description Human-readable name. */
      name: string;
      /** Format: date-time */
      createdAt: string;
      /** @description Time of the last sign-in or verification with it. */
      lastUsedAt: string | null;
      /** @description Whether its provider keeps it on several devices. */
      isBackedUp: boolean;
    };
    PasskeyInvitation: {
      /** @description The link, to be opened on the other device. It can be used once. */
      url: string;
      /** Format: date-time */
      expiresAt: string;
    };
    PasskeyPage: {
      data: components["schemas"]["Passkey"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    PrepareAvatar: Record<string, never>;
    PrepareCall: {
      /** @description The avatar of the next call. It must be `ready`. */
      avatar_id: string;
    };
    PreparedCall: {
      avatar_id: string;
      /** @description After this time, the avatar is loaded at the start of a call again. */
      expires_in_seconds: number;
    };
    ProblemType: {
      /** @description The `type` of the problem. */
      type: string;
      code:
        | "malformed_json"
        | "malformed_request"
        | "missing_api_key"
        | "invalid_api_key"
        | "revoked_api_key"
        | "expired_api_key"
        | "invalid_session"
        | "invalid_credentials"
        | "spend_limit_exceeded"
        | "insufficient_credits"
        | "insufficient_scope"
        | "grant_exceeds_caller"
        | "insufficient_role"
        | "passkey_required"
        | "foreign_origin"
        | "not_found"
        | "transcript_not_kept"
        | "invalid_invitation"
        | "method_not_allowed"
        | "invalid_transition"
        | "session_closed"
        | "avatar_not_ready"
        | "call_not_resumable"
        | "call_not_running"
        | "too_many_turns"
        | "recording_not_ready"
        | "asset_in_use"
        | "rotation_in_progress"
        | "quota_exceeded"
        | "last_owner"
        | "last_passkey"
        | "already_member"
        | "replay_unavailable"
        | "precondition_failed"
        | "body_too_large"
        | "unsupported_media_type"
        | "expectation_failed"
        | "validation_failed"
        | "invalid_passkey"
        | "idempotency_key_reused"
        | "rate_limited"
        | "concurrency_limit_reached"
        | "internal_error"
        | "realtime_not_configured"
        | "conversation_not_configured"
        | "recording_unsupported"
        | "recording_unavailable"
        | "unavailable"
        | "provider_unavailable"
        | "outcome_unknown";
      status: number;
      title: string;
      /** @description When the problem occurs. */
      meaning: string;
      /** @description What the caller can do. */
      remedy: string;
    };
    PublicKeyOptions: {
      /** @description Options for `navigator.credentials` in the JSON form of WebAuthn. */
      publicKey: {
        [key: string]: unknown;
      };
    };
    QueuedCall: {
      message: string;
      /** @description Number of calls that wait, this one included. */
      queue_size: number;
      queue_position: number;
      queue_ticket_id: string;
      /** @description When to send the same request again. */
      recommended_retry_ms: number;
    };
    Recording: {
      sessionId: string;
      recordingId: string;
      /**
       * @description `audio`: sound alone. `audio_video`: with the pictures of the avatar.
       * @enum {string}
       */
      mode: "audio" | "audio_video";
      /** Format: date-time */
      createdAt: string;
      /**
       * Format: date-time
       * @description Time at which the file is deleted. At the end of the call, it moves later by the length of the call.
       */
      retainedUntil: string;
      /** @description The side that is recorded. Absent if both are. */
      participant?: {
        participantIdentity: string;
        /** @enum {string} */
        role: "user" | "avatar";
      };
      /**
       * @description `pending`: nothing was recorded so far. `recording`: the call is recorded. `processing`: after the call, the file is made. `expired`: the file was deleted because of its age.
       * @enum {string}
       */
      status: "pending" | "recording" | "processing" | "ready" | "failed" | "expired";
      /**
       * @description Only if the recording is `ready`.
       * @enum {string}
       */
      mediaType?: "audio/mp4" | "video/mp4";
      /** @description Only if the recording is `ready`. */
      sizeBytes?: number;
      /** @description Only if the recording is `ready`. */
      durationMs?: number;
      /**
       * Format: date-time
       * @description Begin of the sound. Only if the recording is `ready`.
       */
      mediaStartedAt?: string;
      /**
       * Format: date-time
       * @description End of the sound. Only if the recording is `ready`.
       */
      mediaEndedAt?: string;
      /**
       * @description Only of one that has `failed`. `recording_unavailable`: nothing was recorded. `recording_failed`: the file could not be made.
       * @enum {string}
       */
      errorCode?: "recording_failed" | "recording_unavailable";
    };
    RecordingAccess: {
      recordingId: string;
      /** @description Serves the file until `expiresAt`. A secret. */
      url: string;
      /** Format: date-time */
      expiresAt: string;
    };
    RecordingPage: {
      data: components["schemas"]["Recording"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    RecoverDeliveries: {
      /**
       * Format: date-time
       * @description Deliveries from then on that have failed, were canceled or wait for another attempt are sent again. At most 30 days ago: older ones are not kept.
       */
      since: string;
    };
    RecoveredDeliveries: {
      /** @description Deliveries that are sent again, one after another. Counted up to 50000. */
      recovered: number;
      /** @description Time of the next attempt after failed ones; null if the next attempt is made at once. */
      pausedUntil: string | null;
      /**
       * Format: date-time
       * @description When the endpoint can be recovered again.
       */
      nextRecoveryAt: string;
    };
    ReleaseCall: {
      /** @description The call to end. */
      session_id?: string;
      /** @description The ticket to give up. */
      queue_ticket_id?: string;
      /** @enum {string} */
      reason?: "page_hide" | "disconnected" | "superseded" | "unmount" | "manual" | "idle_timeout";
      /** @description Ignored. */
      capacity_pool?: string;
    };
    ReleasedCall: {
      ok: boolean;
    };
    ReleaseSession: {
      /** @description Why the call has ended. */
      reason?: string;
      /** @description Total usage of the session. Requires the scope `usage:write`. */
      usedCreditMicros?: number;
    };
    ReportedSession: {
      sessionId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description The key that opened the session. */
      apiKeyId: string;
      avatarId: string | null;
      avatarName: string | null;
      /** @description The video that the session pays for; null for calls. */
      videoId: string | null;
      /** @enum {string} */
      status: "reserved" | "started" | "released" | "failed";
      /** @description When usage was first reported. */
      startedAt: string | null;
      endedAt: string | null;
      /** @description Seconds from `startedAt` to `endedAt`. */
      activeSeconds: number | null;
      /** @description The charge of the session; null while it is open. */
      billedCreditMicros: number | null;
      /** @description Usage reported so far; for a closed session, its charge. */
      usedCreditMicros: number;
      priceCreditMicrosPerSecond: number;
      /** @description Your own data. */
      metadata: {
        [key: string]: string;
      };
      /** Format: date-time */
      createdAt: string;
      /** @description Credits that the session holds while it is open: the upper bound of its charge. */
      reservedCreditMicros: number;
      /**
       * Format: date-time
       * @description An open session that is not reported before this moment ends by itself.
       */
      expiresAt: string;
      /** @description Whether the call must end: a key without `usage:write` has released the session, it has used all that it holds, or its key or an ancestor is no longer valid or above its cap. */
      mustEnd: boolean;
      /** @description The key that reported usage last; null before the first report. */
      reportedBy: string | null;
      /** @description The key that ended the session, or `sweep`: the service, at the end of its lease or of a call; null while it is open. */
      closedBy: string | null;
      /** @description Why the session ended. `released`: by the key in `closedBy`. `not_started`: the person did not join in time, or no usage was reported in time. `lease_expired`: no usage was reported any more. `key_ended`: its key or an ancestor was revoked, has expired or is over its cap. `operator_ended`: by the operator. `failed`: the room of the call or its avatar failed. The others are those of the message `ended` of a call. Null while the session is open. */
      endReason:
        | (
            | "user_ended"
            | "session_cap"
            | "idle"
            | "disconnected"
            | "out_of_credits"
            | "agent_ended"
            | "failed"
            | "released"
            | "not_started"
            | "lease_expired"
            | "key_ended"
            | "operator_ended"
          )
        | null;
      /** @description The `reason` of the release. */
      releaseReason: string | null;
    };
    ReportLeakedKey: {
      /** @description The full secret that was found. */
      apiKey: string;
    };
    ReportUsage: {
      /** @description Usage since the start of the session. Cumulative. */
      usedCreditMicros: number;
    };
    ResumeCall: {
      /** @description The call to which the person comes back. */
      session_id: string;
    };
    RotateApiKey: {
      /** @description How many seconds the old secret remains valid. At least 60 when a key rotates itself. */
      overlapSeconds?: number;
    };
    SignIn: {
      /** @description The response of the authenticator, as WebAuthn writes it (`RegistrationResponseJSON` or `AuthenticationResponseJSON`). */
      credential: {
        [key: string]: unknown;
      };
    };
    SignInOptions: {
      /** @description Options for `navigator.credentials` in the JSON form of WebAuthn. */
      publicKey: {
        [key: string]: unknown;
      };
      /** @description The provider with which people sign in by OpenID Connect; null without one. */
      oidc: {
        /** @description The name of the provider, for people. */
        name: string;
      } | null;
    };
    SourceRequirement: {
      /**
       * @description The check, as the `checks` of an avatar name it.
       * @enum {string}
       */
      code:
        | "decodable"
        | "single_frame"
        | "codec"
        | "duration"
        | "frame_rate"
        | "resolution"
        | "frame"
        | "face_count"
        | "face_confidence"
        | "face_size"
        | "face_yaw"
        | "face_pitch"
        | "cropped"
        | "sharpness"
        | "brightness";
      /** @description The requirement. */
      description: string;
      /** @description The unit of the bounds and of `measured`. */
      unit: string | null;
      /** @description Inclusive bounds, in `unit`; null where nothing is counted. */
      required: {
        /** @description Null: without a minimum. */
        min: number | null;
        /** @description Null: without a maximum. */
        max: number | null;
      } | null;
      /** @description Inclusive bounds, in `unit`; null where nothing is counted. */
      recommended: {
        /** @description Null: without a minimum. */
        min: number | null;
        /** @description Null: without a maximum. */
        max: number | null;
      } | null;
    };
    StartCall: {
      /** @description The avatar of the call. It must be `ready`. */
      avatar_id: string;
      /**
       * @description `voice`: no picture. Default: `avatar`.
       * @enum {string}
       */
      mode?: "avatar" | "voice";
      /**
       * @description `off`: the person is not listened to. Default: `server`.
       * @enum {string}
       */
      stt_mode?: "server" | "off";
      /** @description How the avatar behaves. */
      instructions?: string;
      /** @description The conversation before the call. */
      initial_context?: {
        /** @enum {string} */
        role: "system" | "user" | "assistant";
        content: string;
      }[];
      /** @description The voice, as its provider describes it. */
      voice?: {
        [key: string]: unknown;
      };
      /** @description The language model. */
      llm?: {
        /**
         * @description Not used.
         * @enum {string}
         */
        backend?: "local" | "gemini" | "openai";
        /** @description A language model that the operator offers. Default: the operator's. */
        model?: string | null;
      } | null;
      transcription?: {
        language_codes?: string[];
        custom_vocabulary?: string[];
      };
      capabilities?: "client_tools"[];
      /** @description The maximum length of the call in seconds. More than 1800 only if the operator allows the tenant longer calls. Default: 1800. Credits are held for as many of these seconds as fit, at most 1800 at first; the hold of a longer call grows while it goes on. */
      max_session_seconds?: number;
      /** @description Your own data: at most 16 strings of at most 200 characters, with names of 1 to 64 characters. */
      client_metadata?: {
        [key: string]: string;
      };
      /** @description The ticket of the previous response, when the call was queued. */
      queue_ticket_id?: string;
      /** @description `audio` records both sides, `audio_video` with the pictures of the avatar, `participants` each side in its own file. The person is told. `video` is refused, because the camera of the person is not subscribed to. Default: nothing. */
      recording?: ("audio" | "audio_video" | "participants" | "video") | "off" | false;
      /** @description Where the transcript of the call is sent after its end. Default: nowhere. */
      transcript_webhook?: components["schemas"]["TranscriptWebhook"] | "off" | false;
      /** @description Whether the page of the person may upload how well it is connected (`connection_history` of the grant). Default: no. */
      connection_history?: boolean | "off";
      camera?: "off" | false;
      render_backend?: "off" | false;
      support_edits?: "off" | false;
    };
    TenantSettings: {
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description Whether the transcripts of calls that begin from now on are kept, to be read by `GET /usage/sessions/{id}/transcript`. */
      keepTranscripts: boolean;
      /** @description The last change; null while nothing was ever set. */
      updatedAt: string | null;
    };
    Transcript: {
      sessionId: string;
      /**
       * @description `open`: segments can still be added, until some seconds after the end of the call.
       * @enum {string}
       */
      status: "open" | "final" | "deleted";
      /** @description Whether words are missing. */
      truncated: boolean;
      /** @description When the transcript is deleted; null while the call is open. */
      deletesAt: string | null;
      /** @description What was said, in its order, as `segments` of the transcript that a webhook gets. */
      segments: {
        /** @enum {string} */
        role: "user" | "assistant";
        text: string;
        ts: number;
        interrupted?: boolean;
        turn_id?: string;
        retry_of_turn_id?: string;
        input_provenance?: {
          version: number;
          /** @enum {string} */
          observed_source: "text" | "server_stt";
          /** @enum {string} */
          observed_by: "sdk" | "worker";
          /** @enum {string} */
          declared_source?: "text" | "client_stt";
          /** @enum {string} */
          declaration_scope?: "turn" | "adapter";
          /** @enum {string} */
          ingress: "room_text" | "room_audio_stt";
        };
        /** @description The stages of the turn, in milliseconds. */
        timings?: {
          [key: string]: unknown;
        };
        /** @enum {string} */
        input_source?: "text" | "server_stt" | "client_stt";
      }[];
    };
    TranscriptWebhook: {
      /** @description The https URL that receives the transcript, on port 443 or 8443, without credentials, in ASCII. Its host is a public name, not an address. */
      url: string;
      /** @description Your own secret. It signs the transcript. */
      secret: string;
    };
    Turn: {
      id: string;
      session_id: string;
      /** @enum {string} */
      kind: "say" | "answer";
      /**
       * @description `queued`; `speaking`; `said`: to the end; `interrupted`: by the person, a turn, an interruption or the end of the call; `failed`: a provider or the avatar worker; `dropped`: before it began.
       * @enum {string}
       */
      status: "queued" | "speaking" | "said" | "interrupted" | "failed" | "dropped";
      /** @description The words that were heard. null until the turn is over, and when they are unknown. */
      heard: string | null;
      /** Format: date-time */
      created_at: string;
    };
    UpdateApiKey: {
      /** @description Human-readable name. */
      name?: string;
      /** @description The operations that the key may perform. `*` includes every scope except `usage:write`; no other scope implies another. Duplicates are stored once. */
      scopes?: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros?: number | null;
      /** @description Maximum number of open sessions of the key and its descendants in the same environment; null means that only the limit of the tenant applies. */
      maxConcurrentSessions?: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt?: string | null;
    };
    UpdateAvatar: {
      /** @description Human-readable name. */
      displayName?: string;
      /** @description Id of the model that renders the avatar. */
      modelId?: string;
      sourceAssetId?: string | null;
      defaultVoiceId?: string | null;
      /** @description Settings for the platform, at most 32768 bytes as compact JSON in UTF-8. */
      settings?: {
        [key: string]: unknown;
      };
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata?: {
        [key: string]: unknown;
      };
      /** @enum {string} */
      status?: "ready" | "disabled";
    };
    UpdateCreditBalance: {
      /** @description The event `credits.low` is sent when less than this becomes available; null: never. */
      lowThresholdCreditMicros: number | null;
    };
    UpdatePasskey: {
      /** @description Human-readable name. */
      name: string;
    };
    UpdateTenantSettings: {
      /** @description Whether the transcripts of calls that begin from now on are kept, to be read by `GET /usage/sessions/{id}/transcript`. */
      keepTranscripts: boolean;
    };
    UpdateUser: {
      /** @description Human-readable name. */
      name?: string;
      /**
       * @description `viewer` reads; `developer` also writes keys, assets and avatars; `owner` also manages people.
       * @enum {string}
       */
      role?: "viewer" | "developer" | "owner";
    };
    UpdateWebhookEndpoint: {
      /** @description The https URL that receives events, on port 443 or 8443, without credentials, in ASCII. Its host is a public name, not an address. */
      url?: string;
      description?: string | null;
      events?:
        | (
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring"
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed"
            | "asset.created"
            | "asset.uploaded"
            | "asset.ready"
            | "asset.failed"
            | "asset.deleted"
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted"
            | "usage_session.opened"
            | "usage_session.started"
            | "usage_session.ended"
            | "video.ready"
            | "video.failed"
            | "recording.ready"
            | "recording.failed"
            | "webhook_endpoint.disabled"
            | "webhook_endpoint.test"
            | "api_key.*"
            | "avatar.*"
            | "asset.*"
            | "credits.*"
            | "usage_session.*"
            | "video.*"
            | "recording.*"
            | "webhook_endpoint.*"
          )[]
        | null;
      /** @description Whether an event waits until the earlier events of the same resource were delivered or have failed. Otherwise order is not promised: compare `sequence`. */
      ordered?: boolean;
      /** @enum {string} */
      status?: "enabled" | "disabled";
    };
    /** @description The parts can be in any order. */
    UploadAsset: {
      /**
       * Format: binary
       * @description The file. Its `filename` becomes `originalFilename`, decoded as browsers encode it (`%22`, `%0D` and `%0A`; also `\"`), without control characters, line breaks and characters that change the direction of text, and cut to 240 characters. Slashes and backslashes are kept. Its limits, by kind:
       *
       *     - `image`: image/jpeg, image/png or image/webp; at most 16 MiB; at most 40 megapixels; 1 frame
       *     - `video`: video/mp4, video/quicktime or video/webm; at most 200 MiB; 1 to 120 s; at most 1920 × 1080 pixels in either orientation; at most 60 frames per second; H.264 or VP9
       *     - `audio`: audio/mpeg, audio/wav, audio/mp4, audio/aac, audio/ogg or audio/flac; at most 32 MiB; longer than 0 s
       */
      file: Blob;
      /**
       * @description Kind of the file.
       * @enum {string}
       */
      kind?: "image" | "video" | "audio";
    };
    UsageSession: {
      sessionId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description The key that opened the session. */
      apiKeyId: string;
      avatarId: string | null;
      avatarName: string | null;
      /** @description The video that the session pays for; null for calls. */
      videoId: string | null;
      /** @enum {string} */
      status: "reserved" | "started" | "released" | "failed";
      /** @description When usage was first reported. */
      startedAt: string | null;
      endedAt: string | null;
      /** @description Seconds from `startedAt` to `endedAt`. */
      activeSeconds: number | null;
      /** @description The charge of the session; null while it is open. */
      billedCreditMicros: number | null;
      /** @description Usage reported so far; for a closed session, its charge. */
      usedCreditMicros: number;
      priceCreditMicrosPerSecond: number;
      /** @description Your own data. */
      metadata: {
        [key: string]: string;
      };
      /** Format: date-time */
      createdAt: string;
      /** @description Credits that the session holds while it is open: the upper bound of its charge. */
      reservedCreditMicros: number;
      /**
       * Format: date-time
       * @description An open session that is not reported before this moment ends by itself.
       */
      expiresAt: string;
      /** @description Whether the call of an open session must end: a key without `usage:write` has released the session, or it has used all that it holds. */
      mustEnd: boolean;
      /** @description The key that reported usage last; null before the first report. */
      reportedBy: string | null;
      /** @description The key that ended the session, or `sweep`: the service, at the end of its lease or of a call; null while it is open. */
      closedBy: string | null;
      /** @description Why the session ended. `released`: by the key in `closedBy`. `not_started`: the person did not join in time, or no usage was reported in time. `lease_expired`: no usage was reported any more. `key_ended`: its key or an ancestor was revoked, has expired or is over its cap. `operator_ended`: by the operator. `failed`: the room of the call or its avatar failed. The others are those of the message `ended` of a call. Null while the session is open. */
      endReason:
        | (
            | "user_ended"
            | "session_cap"
            | "idle"
            | "disconnected"
            | "out_of_credits"
            | "agent_ended"
            | "failed"
            | "released"
            | "not_started"
            | "lease_expired"
            | "key_ended"
            | "operator_ended"
          )
        | null;
      /** @description The `reason` of the release. */
      releaseReason: string | null;
    };
    UsageSessionPage: {
      /**
       * Format: date-time
       * @description Start of the time window of the list, inclusive.
       */
      from: string;
      /**
       * Format: date-time
       * @description End of the time window of the list, exclusive.
       */
      to: string;
      total?: {
        /** @description How many were counted, at most 10000. */
        count: number;
        /** @description Whether `count` is the full number; otherwise there are more. */
        isExact: boolean;
      };
      data: components["schemas"]["UsageSessionWithNames"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    UsageSessionWithNames: {
      sessionId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description The key that opened the session. */
      apiKeyId: string;
      avatarId: string | null;
      avatarName: string | null;
      /** @description The video that the session pays for; null for calls. */
      videoId: string | null;
      /** @enum {string} */
      status: "reserved" | "started" | "released" | "failed";
      /** @description When usage was first reported. */
      startedAt: string | null;
      endedAt: string | null;
      /** @description Seconds from `startedAt` to `endedAt`. */
      activeSeconds: number | null;
      /** @description The charge of the session; null while it is open. */
      billedCreditMicros: number | null;
      /** @description Usage reported so far; for a closed session, its charge. */
      usedCreditMicros: number;
      priceCreditMicrosPerSecond: number;
      /** @description Your own data. */
      metadata: {
        [key: string]: string;
      };
      /** Format: date-time */
      createdAt: string;
      /** @description Credits that the session holds while it is open: the upper bound of its charge. */
      reservedCreditMicros: number;
      /**
       * Format: date-time
       * @description An open session that is not reported before this moment ends by itself.
       */
      expiresAt: string;
      /** @description Whether the call of an open session must end: a key without `usage:write` has released the session, or it has used all that it holds. */
      mustEnd: boolean;
      /** @description The key that reported usage last; null before the first report. */
      reportedBy: string | null;
      /** @description The key that ended the session, or `sweep`: the service, at the end of its lease or of a call; null while it is open. */
      closedBy: string | null;
      /** @description Why the session ended. `released`: by the key in `closedBy`. `not_started`: the person did not join in time, or no usage was reported in time. `lease_expired`: no usage was reported any more. `key_ended`: its key or an ancestor was revoked, has expired or is over its cap. `operator_ended`: by the operator. `failed`: the room of the call or its avatar failed. The others are those of the message `ended` of a call. Null while the session is open. */
      endReason:
        | (
            | "user_ended"
            | "session_cap"
            | "idle"
            | "disconnected"
            | "out_of_credits"
            | "agent_ended"
            | "failed"
            | "released"
            | "not_started"
            | "lease_expired"
            | "key_ended"
            | "operator_ended"
          )
        | null;
      /** @description The `reason` of the release. */
      releaseReason: string | null;
      /** @description The name that the key has now; null without one, or when the name cannot be shown. */
      apiKeyName: string | null;
      /** @description The name that the key of `reportedBy` has now; null without one, or when the name cannot be shown. */
      reportedByName: string | null;
      /** @description The name that the key of `closedBy` has now; null without one, or when the name cannot be shown. */
      closedByName: string | null;
    };
    UsageSum: {
      /** @description The day in UTC on which the sessions were created. */
      day: string;
      /** @description The key that opened the sessions; null when grouped by avatar. */
      apiKeyId: string | null;
      /** @description The name that the key has now; null without one, or when the name cannot be shown. */
      apiKeyName: string | null;
      /** @description The avatar; null for calls without one, and when grouped by key. */
      avatarId: string | null;
      /** @description The name that the avatar has now; null without one, or when the name cannot be shown. */
      avatarName: string | null;
      /** @description Number of sessions. */
      sessions: number;
      /** @description Seconds from the start to the end of sessions that have ended. */
      activeSeconds: number;
      /** @description Charges of ended sessions, before refunds. */
      billedCreditMicros: number;
      /** @description Credits held by open sessions. */
      reservedCreditMicros: number;
    };
    UsageSummaryPage: {
      /**
       * Format: date-time
       * @description Start of the time window of the list, inclusive.
       */
      from: string;
      /**
       * Format: date-time
       * @description End of the time window of the list, exclusive.
       */
      to: string;
      /** @description One entry for each day of the window, newest first; only on the first page. */
      conversations: components["schemas"]["ConversationSum"][];
      data: components["schemas"]["UsageSum"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    User: {
      id: string;
      tenantId: string;
      email: string;
      /** @description Human-readable name. */
      name: string;
      /**
       * @description `viewer` reads; `developer` also writes keys, assets and avatars; `owner` also manages people.
       * @enum {string}
       */
      role: "viewer" | "developer" | "owner";
      /** Format: date-time */
      createdAt: string;
      /** @description Time of the last request, to the minute. */
      lastSeenAt: string | null;
    };
    UserPage: {
      data: components["schemas"]["User"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    UserSession: {
      id: string;
      userId: string;
      /**
       * @description The credential that opened the session: a passkey, or the account at the provider (OpenID Connect).
       * @enum {string}
       */
      signInMethod: "passkey" | "oidc";
      /** @description The `User-Agent` of the browser at sign-in. */
      userAgent: string | null;
      /** Format: date-time */
      createdAt: string;
      /**
       * Format: date-time
       * @description Time of the last request, to the minute.
       */
      lastSeenAt: string;
      /** Format: date-time */
      expiresAt: string;
      /** @description Whether it is the session of this request. */
      isCurrent: boolean;
    };
    UserSessionPage: {
      data: components["schemas"]["UserSession"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    VerificationOptions: {
      /** @description Options for `navigator.credentials` in the JSON form of WebAuthn. */
      publicKey: {
        [key: string]: unknown;
      };
      /** @description Whether the person has a passkey. */
      hasPasskey: boolean;
      /** @description The provider at which the person has an identity; null without one. */
      oidc: {
        /** @description The name of the provider, for people. */
        name: string;
      } | null;
    };
    Video: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      avatarId: string;
      /** @description Null with audio, and for a deleted video. */
      text: string | null;
      audioAssetId: string | null;
      /**
       * @description A new video is `queued`.
       * @enum {string}
       */
      status: "queued" | "rendering" | "ready" | "failed" | "canceled" | "deleted";
      /** @description The part of the video that is rendered: 0 to 1. */
      progress: number;
      /** @description The asset with the file; null before the video is `ready`, and once the file is deleted. */
      assetId: string | null;
      /** @description Public address of the file; null without `assetId`. */
      videoUrl: string | null;
      /** @description Null before `ready`. */
      durationSeconds: number | null;
      /** @description The seconds that were charged; null while the video is running. */
      billedSeconds: number | null;
      /** @description The charge; null while the video is running. */
      billedCreditMicros: number | null;
      /** @description The usage session that holds the credits, and is charged. */
      sessionId: string;
      /** @description Why the video is `failed`; otherwise null. */
      error: {
        /** @description One of: voice_refused, voice_busy, voice_timeout, voice_malformed, audio_silent, audio_too_long, audio_malformed, audio_unsupported, audio_unavailable, avatar_unavailable, no_capacity, quota_exceeded, key_ended, session_ended, internal. Later versions may add others. */
        code: string;
        /** @description The cause of the failure, and how a person can solve it. */
        detail: string;
      } | null;
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. A `user_id` that is text is also that of the usage session. */
      metadata: {
        [key: string]: unknown;
      };
      /** @description The key that created the video. */
      createdBy: string;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
      /** @description The voice that says the text: the voice of the request, of the avatar, or of the service; null with audio. */
      voiceId: string | null;
      /** @description Credits that the video holds while it is queued or rendered: the upper bound of its charge. */
      reservedCreditMicros: number;
      /** @description Deviations from the request that do not prevent the video. */
      warnings: string[];
    };
    VideoPage: {
      data: components["schemas"]["Video"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    Voice: {
      /** @description The voice that `defaultVoiceId` of an avatar names. */
      id: string;
      /** @description Name to show to people. */
      name: string;
      /** @description A BCP 47 tag; null for a voice that speaks the language of the text. */
      language: string | null;
      /**
       * @description `flite`: comes with the service; `openai`: a server with OpenAI's API, which the operator has set.
       * @enum {string}
       */
      provider: "flite" | "openai";
      /** @description Whether this is the default voice. */
      isDefault: boolean;
      /** @description Address of a short WAV file of this voice, with the same authorization as the list. */
      sampleUrl: string;
    };
    VoicePage: {
      data: components["schemas"]["Voice"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    WebhookDelivery: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      endpointId: string;
      eventId: string;
      /** @enum {string} */
      eventType:
        | "api_key.created"
        | "api_key.updated"
        | "api_key.rotated"
        | "api_key.revoked"
        | "api_key.reported_leaked"
        | "api_key.spend_limit_reached"
        | "api_key.expiring"
        | "avatar.created"
        | "avatar.updated"
        | "avatar.deleted"
        | "avatar.prepared"
        | "avatar.preparation_failed"
        | "asset.created"
        | "asset.uploaded"
        | "asset.ready"
        | "asset.failed"
        | "asset.deleted"
        | "credits.granted"
        | "credits.voided"
        | "credits.adjusted"
        | "credits.limit_changed"
        | "credits.low"
        | "credits.exhausted"
        | "usage_session.opened"
        | "usage_session.started"
        | "usage_session.ended"
        | "video.ready"
        | "video.failed"
        | "recording.ready"
        | "recording.failed"
        | "webhook_endpoint.disabled"
        | "webhook_endpoint.test";
      /** @description Id of the resource that the event is about. */
      targetId: string;
      /** @description The name that the resource has now; null without one, or when the name cannot be shown. */
      targetName: string | null;
      /** @description Grows with each event of that resource. */
      sequence: number;
      /** @enum {string} */
      status: "pending" | "delivered" | "failed" | "canceled";
      /** @description The newest attempts, the oldest of them first. */
      attempts: components["schemas"]["DeliveryAttempt"][];
      /** @description Null unless `pending`. */
      nextAttemptAt: string | null;
      /** @description The body as it is sent. Null before the first attempt. */
      body: string | null;
      /** Format: date-time */
      createdAt: string;
    };
    WebhookDeliveryPage: {
      total?: {
        /** @description How many were counted, at most 10000. */
        count: number;
        /** @description Whether `count` is the full number; otherwise there are more. */
        isExact: boolean;
      };
      data: components["schemas"]["WebhookDelivery"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    WebhookEndpoint: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description Null: deliveries are read, not sent. */
      url: string | null;
      description: string | null;
      /** @description Null: all. */
      events:
        | (
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring"
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed"
            | "asset.created"
            | "asset.uploaded"
            | "asset.ready"
            | "asset.failed"
            | "asset.deleted"
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted"
            | "usage_session.opened"
            | "usage_session.started"
            | "usage_session.ended"
            | "video.ready"
            | "video.failed"
            | "recording.ready"
            | "recording.failed"
            | "webhook_endpoint.disabled"
            | "webhook_endpoint.test"
            | "api_key.*"
            | "avatar.*"
            | "asset.*"
            | "credits.*"
            | "usage_session.*"
            | "video.*"
            | "recording.*"
            | "webhook_endpoint.*"
          )[]
        | null;
      /** @description Whether an event waits until the earlier events of the same resource were delivered or have failed. Otherwise order is not promised: compare `sequence`. */
      ordered: boolean;
      /** @enum {string} */
      status: "enabled" | "disabled";
      /** @description Null while the endpoint is enabled. */
      disabledReason: ("requested" | "gone" | "failing" | "operator") | null;
      /** @description Time of the first failed attempt after the last success. After five days the endpoint is disabled. */
      failingSince: string | null;
      /** @description Until this time, the secret before the last rotation signs as well; null without such a secret. */
      previousSecretExpiresAt: string | null;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
    };
    WebhookEndpointPage: {
      data: components["schemas"]["WebhookEndpoint"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    WebhookEndpointWithSecret: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description Null: deliveries are read, not sent. */
      url: string | null;
      description: string | null;
      /** @description Null: all. */
      events:
        | (
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring"
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed"
            | "asset.created"
            | "asset.uploaded"
            | "asset.ready"
            | "asset.failed"
            | "asset.deleted"
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted"
            | "usage_session.opened"
            | "usage_session.started"
            | "usage_session.ended"
            | "video.ready"
            | "video.failed"
            | "recording.ready"
            | "recording.failed"
            | "webhook_endpoint.disabled"
            | "webhook_endpoint.test"
            | "api_key.*"
            | "avatar.*"
            | "asset.*"
            | "credits.*"
            | "usage_session.*"
            | "video.*"
            | "recording.*"
            | "webhook_endpoint.*"
          )[]
        | null;
      /** @description Whether an event waits until the earlier events of the same resource were delivered or have failed. Otherwise order is not promised: compare `sequence`. */
      ordered: boolean;
      /** @enum {string} */
      status: "enabled" | "disabled";
      /** @description Null while the endpoint is enabled. */
      disabledReason: ("requested" | "gone" | "failing" | "operator") | null;
      /** @description Time of the first failed attempt after the last success. After five days the endpoint is disabled. */
      failingSince: string | null;
      /** @description Until this time, the secret before the last rotation signs as well; null without such a secret. */
      previousSecretExpiresAt: string | null;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
      /** @description Verifies deliveries. Shown once. */
      secret: string;
    };
    /** @description A user of the tenant has the email address already. */
    AlreadyMemberProblem: {
      /** @constant */
      type: "/problems/already_member";
      /** @constant */
      title: "A user has this address";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "already_member";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description An avatar that is not deleted is built from the asset. */
    AssetInUseProblem: {
      /** @constant */
      type: "/problems/asset_in_use";
      /** @constant */
      title: "The asset is in use";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "asset_in_use";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The avatar exists, but its status is not `ready`, so no call can be held with it. */
    AvatarNotReadyProblem: {
      /** @constant */
      type: "/problems/avatar_not_ready";
      /** @constant */
      title: "The avatar is not ready";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "avatar_not_ready";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The body is larger than 128 KiB, or the file of an upload is larger than its kind allows. */
    BodyTooLargeProblem: {
      /** @constant */
      type: "/problems/body_too_large";
      /** @constant */
      title: "The body is too large";
      /** @constant */
      status: 413;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "body_too_large";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The call is open, but cannot go on in another room: the person has not joined, the avatar speaks for an agent, or the avatar worker is of an earlier release. */
    CallNotResumableProblem: {
      /** @constant */
      type: "/problems/call_not_resumable";
      /** @constant */
      title: "The call cannot be resumed";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "call_not_resumable";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The call has ended, or must end. Nothing was said. */
    CallNotRunningProblem: {
      /** @constant */
      type: "/problems/call_not_running";
      /** @constant */
      title: "The call has ended";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "call_not_running";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The calling key (`limitedBy` is `self`), an ancestor (`ancestor`) or the tenant (`tenant`) has `maxConcurrentSessions` open sessions. For the key's own limit, the problem also has `liveSessions`, `activeSessions`, `connectingSessions` and `pendingSessions`. Or too many videos of the tenant are queued or rendered. Nothing was held. */
    ConcurrencyLimitReachedProblem: {
      /** @constant */
      type: "/problems/concurrency_limit_reached";
      /** @constant */
      title: "Too many sessions are open";
      /** @constant */
      status: 429;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "concurrency_limit_reached";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      /**
       * @description The owner of the limit: the calling key, one of its ancestors, or the tenant.
       * @enum {string}
       */
      limitedBy: "self" | "ancestor" | "tenant";
      /** @description The limit. */
      maxConcurrentSessions: number;
      /** @description Open sessions that count against the limit. Only for the calling key's own limit. */
      liveSessions?: number;
      /** @description Started sessions among them. */
      activeSessions?: number;
      /** @description Sessions among them that were not started yet. */
      connectingSessions?: number;
      /** @description Starts of calls that are waiting for a slot. */
      pendingSessions?: number;
    };
    /** @description The avatar worker of the call has no language model to answer a turn, or is of a release that takes no turns. */
    ConversationNotConfiguredProblem: {
      /** @constant */
      type: "/problems/conversation_not_configured";
      /** @constant */
      title: "The call cannot take this turn";
      /** @constant */
      status: 501;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "conversation_not_configured";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The key or one of its ancestors has expired. */
    ExpiredApiKeyProblem: {
      /** @constant */
      type: "/problems/expired_api_key";
      /** @constant */
      title: "The API key has expired";
      /** @constant */
      status: 401;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "expired_api_key";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The `Origin` or `Sec-Fetch-Site` header shows that a page of another origin sent the request. */
    ForeignOriginProblem: {
      /** @constant */
      type: "/problems/foreign_origin";
      /** @constant */
      title: "The request comes from a page of another origin";
      /** @constant */
      status: 403;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "foreign_origin";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The target key has, or would have, more permissions than the calling key; or it is an ancestor of the calling key; or the operation is allowed only for descendants of the calling key. */
    GrantExceedsCallerProblem: {
      /** @constant */
      type: "/problems/grant_exceeds_caller";
      /** @constant */
      title: "An API key cannot grant more than it has";
      /** @constant */
      status: 403;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "grant_exceeds_caller";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      errors: {
        /** @description A JSON Pointer into the body, in fragment form. */
        pointer?: string;
        /** @description The name of a query parameter. */
        parameter?: string;
        /** @description The name of a header. */
        header?: string;
        detail: string;
        /**
         * @description The error, as text.
         * @enum {string}
         */
        code: "exceeds_caller" | "lineage_too_deep" | "is_ancestor" | "not_descendant";
        /** @description The values that the calling key may grant; null when it may grant none. */
        allowed: unknown;
      }[];
    };
    /** @description The `Idempotency-Key` was used before, for a request with another body. */
    IdempotencyKeyReusedProblem: {
      /** @constant */
      type: "/problems/idempotency_key_reused";
      /** @constant */
      title: "The Idempotency-Key was used with another body";
      /** @constant */
      status: 422;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "idempotency_key_reused";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The available balance of the tenant, in the environment of the calling key, is less than `requiredCreditMicros`. Nothing was held. */
    InsufficientCreditsProblem: {
      /** @constant */
      type: "/problems/insufficient_credits";
      /** @constant */
      title: "The tenant has too few credits";
      /** @constant */
      status: 402;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "insufficient_credits";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      /** @description The minimal hold of the request, in credit micros. */
      requiredCreditMicros: number;
    };
    /** @description The operation needs a greater role, or it is only for API keys (`requiredRole` is null), or only for people (`role` is null). */
    InsufficientRoleProblem: {
      /** @constant */
      type: "/problems/insufficient_role";
      /** @constant */
      title: "The role does not allow this operation";
      /** @constant */
      status: 403;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "insufficient_role";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      /** @description The required role; null: the operation is only for API keys. */
      requiredRole: ("viewer" | "developer" | "owner") | null;
      /** @description The role of the caller; null: the caller is an API key. */
      role: ("viewer" | "developer" | "owner") | null;
    };
    /** @description The key does not hold the scope that the operation requires. */
    InsufficientScopeProblem: {
      /** @constant */
      type: "/problems/insufficient_scope";
      /** @constant */
      title: "The API key lacks the scope for this operation";
      /** @constant */
      status: 403;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "insufficient_scope";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      requiredScope:
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write";
      grantedScopes: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
    };
    /** @description A defect in the service. */
    InternalErrorProblem: {
      /** @constant */
      type: "/problems/internal_error";
      /** @constant */
      title: "Internal error";
      /** @constant */
      status: 500;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "internal_error";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The API key is malformed or unknown. */
    InvalidApiKeyProblem: {
      /** @constant */
      type: "/problems/invalid_api_key";
      /** @constant */
      title: "The API key is not valid";
      /** @constant */
      status: 401;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "invalid_api_key";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The link is malformed, was used before, has expired or was withdrawn, or its creator may no longer invite. */
    InvalidInvitationProblem: {
      /** @constant */
      type: "/problems/invalid_invitation";
      /** @constant */
      title: "The link is not valid";
      /** @constant */
      status: 404;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "invalid_invitation";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The response of the authenticator is malformed, was not made for this service, has a wrong signature, was used before or came too late; or the passkey is unknown. */
    InvalidPasskeyProblem: {
      /** @constant */
      type: "/problems/invalid_passkey";
      /** @constant */
      title: "The passkey was not accepted";
      /** @constant */
      status: 422;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "invalid_passkey";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The session of the cookie has ended or expired, or is unknown. */
    InvalidSessionProblem: {
      /** @constant */
      type: "/problems/invalid_session";
      /** @constant */
      title: "The session has ended";
      /** @constant */
      status: 401;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "invalid_session";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The current status of the resource does not allow this change. */
    InvalidTransitionProblem: {
      /** @constant */
      type: "/problems/invalid_transition";
      /** @constant */
      title: "The resource cannot make this move from its present state";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "invalid_transition";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      currentStatus: string;
      allowedStatuses: string[];
    };
    /** @description The user is the last owner of the tenant. Nothing was changed. */
    LastOwnerProblem: {
      /** @constant */
      type: "/problems/last_owner";
      /** @constant */
      title: "A tenant keeps an owner";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "last_owner";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The person could not sign in without this last passkey or identity. Nothing was changed. */
    LastPasskeyProblem: {
      /** @constant */
      type: "/problems/last_passkey";
      /** @constant */
      title: "A person keeps a passkey";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "last_passkey";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The body is empty, not UTF-8, not JSON, or nested more than 64 levels deep. */
    MalformedJsonProblem: {
      /** @constant */
      type: "/problems/malformed_json";
      /** @constant */
      title: "The body is not well-formed JSON";
      /** @constant */
      status: 400;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "malformed_json";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The body was incomplete, arrived too slowly or is a malformed form, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters. */
    MalformedRequestProblem: {
      /** @constant */
      type: "/problems/malformed_request";
      /** @constant */
      title: "The request is malformed";
      /** @constant */
      status: 400;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "malformed_request";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description No bearer credentials were sent. */
    MissingApiKeyProblem: {
      /** @constant */
      type: "/problems/missing_api_key";
      /** @constant */
      title: "No API key was sent";
      /** @constant */
      status: 401;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "missing_api_key";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The resource does not exist, or the caller is not allowed to see it. */
    NotFoundProblem: {
      /** @constant */
      type: "/problems/not_found";
      /** @constant */
      title: "Not found";
      /** @constant */
      status: 404;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "not_found";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The request may have been executed: the database did not respond in time, or the connection to it was lost. */
    OutcomeUnknownProblem: {
      /** @constant */
      type: "/problems/outcome_unknown";
      /** @constant */
      title: "The request may or may not have been executed";
      /** @constant */
      status: 503;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "outcome_unknown";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The operation is allowed only within five minutes after the passkey was used. */
    PasskeyRequiredProblem: {
      /** @constant */
      type: "/problems/passkey_required";
      /** @constant */
      title: "The passkey must be used again";
      /** @constant */
      status: 403;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "passkey_required";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The version of the resource does not match `If-Match`. */
    PreconditionFailedProblem: {
      /** @constant */
      type: "/problems/precondition_failed";
      /** @constant */
      title: "The resource has changed";
      /** @constant */
      status: 412;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "precondition_failed";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The provider of OpenID Connect did not respond in time, or its response is not valid; the `Retry-After` header says when to try again. Passkeys do not need it. */
    ProviderUnavailableProblem: {
      /** @constant */
      type: "/problems/provider_unavailable";
      /** @constant */
      title: "The provider of the sign-in is unavailable";
      /** @constant */
      status: 503;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "provider_unavailable";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The tenant has the maximum number of active API keys, of assets, of their bytes, of webhook endpoints, or of transcripts that wait for another attempt. */
    QuotaExceededProblem: {
      /** @constant */
      type: "/problems/quota_exceeded";
      /** @constant */
      title: "The tenant has reached a quota";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "quota_exceeded";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description A key with its descendants, or a tenant, has sent too many requests. Or too many of these are in progress: uploads of a tenant or a client, files that are sent to a client, reports of leaked keys, or tests, resends and recoveries of webhooks. Or all slots are in use, and a call in a room of your own waits for its turn. The `Retry-After` header says when to try again. */
    RateLimitedProblem: {
      /** @constant */
      type: "/problems/rate_limited";
      /** @constant */
      title: "Too many requests";
      /** @constant */
      status: 429;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "rate_limited";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The service has no LiveKit server, or no secret for avatar workers, so it cannot hold calls. */
    RealtimeNotConfiguredProblem: {
      /** @constant */
      type: "/problems/realtime_not_configured";
      /** @constant */
      title: "Realtime calls are not configured";
      /** @constant */
      status: 501;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "realtime_not_configured";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The recording is not `ready`: its call goes on, its file is made, or it has failed or expired. */
    RecordingNotReadyProblem: {
      /** @constant */
      type: "/problems/recording_not_ready";
      /** @constant */
      title: "The recording has no file";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "recording_not_ready";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The start has `recording`, and no avatar worker that runs can record; the `Retry-After` header says when to try again. */
    RecordingUnavailableProblem: {
      /** @constant */
      type: "/problems/recording_unavailable";
      /** @constant */
      title: "No avatar worker can record";
      /** @constant */
      status: 503;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "recording_unavailable";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The start has `recording`, while an agent speaks with the person (`CALL_AGENT_NAME`). */
    RecordingUnsupportedProblem: {
      /** @constant */
      type: "/problems/recording_unsupported";
      /** @constant */
      title: "The service cannot record this call";
      /** @constant */
      status: 501;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "recording_unsupported";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource. */
    ReplayUnavailableProblem: {
      /** @constant */
      type: "/problems/replay_unavailable";
      /** @constant */
      title: "The first answer can no longer be replayed";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "replay_unavailable";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The key or one of its ancestors was revoked, or a rotation replaced this secret. */
    RevokedApiKeyProblem: {
      /** @constant */
      type: "/problems/revoked_api_key";
      /** @constant */
      title: "The API key has been revoked";
      /** @constant */
      status: 401;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "revoked_api_key";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The key, or the secret of the webhook endpoint, was rotated, and its older secret is valid until the overlap ends; the `Retry-After` header says when that is. */
    RotationInProgressProblem: {
      /** @constant */
      type: "/problems/rotation_in_progress";
      /** @constant */
      title: "A rotation is in progress";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "rotation_in_progress";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The usage session has ended, or its lease has expired; or it was released before with another `usedCreditMicros`. Nothing was changed. */
    SessionClosedProblem: {
      /** @constant */
      type: "/problems/session_closed";
      /** @constant */
      title: "The session has ended";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "session_closed";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The spend cap of the calling key (`limitedBy` is `self`), or of an ancestor of it (`ancestor`), leaves less than `requiredCreditMicros`. Nothing was held. */
    SpendLimitExceededProblem: {
      /** @constant */
      type: "/problems/spend_limit_exceeded";
      /** @constant */
      title: "The session does not fit under a spend cap";
      /** @constant */
      status: 402;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "spend_limit_exceeded";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      /** @description The minimal hold of the request, in credit micros. */
      requiredCreditMicros: number;
      /** @description The owner of the spend cap: the calling key or one of its ancestors. */
      limitedBy: "self" | "ancestor";
    };
    /** @description Eight turns of the call are `queued`. Nothing was added. */
    TooManyTurnsProblem: {
      /** @constant */
      type: "/problems/too_many_turns";
      /** @constant */
      title: "Too many turns wait in the call";
      /** @constant */
      status: 409;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "too_many_turns";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The session exists, and no transcript of it is kept: it is no call, or the tenant did not keep transcripts when the call began, or the transcript was deleted, by a request or because of its age. */
    TranscriptNotKeptProblem: {
      /** @constant */
      type: "/problems/transcript_not_kept";
      /** @constant */
      title: "No transcript of the call is kept";
      /** @constant */
      status: 404;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "transcript_not_kept";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again. */
    UnavailableProblem: {
      /** @constant */
      type: "/problems/unavailable";
      /** @constant */
      title: "The service is unavailable; the request was not executed";
      /** @constant */
      status: 503;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "unavailable";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The `Content-Type` is not the one that the operation takes, which is `application/json` except for uploads by a form (`multipart/form-data`), or the request has a `Content-Encoding`. */
    UnsupportedMediaTypeProblem: {
      /** @constant */
      type: "/problems/unsupported_media_type";
      /** @constant */
      title: "The media type of the body is not supported";
      /** @constant */
      status: 415;
      /** @description The error, as text for people. */
      detail: string;
      /** @constant */
      code: "unsupported_media_type";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description Fields, query parameters or headers do not meet their constraints; `errors` lists every failure. */
    ValidationFailedProblem: {
      /** @constant */
      type: "/problems/validation_failed";
      /** @constant */
      title: "The request does not meet its constraints";
      /** @constant */
      status: 422;
      /** @description The error, as text for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "validation_failed";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      errors: {
        /** @description A JSON Pointer into the body, in fragment form. */
        pointer?: string;
        /** @description The name of a query parameter. */
        parameter?: string;
        /** @description The name of a header. */
        header?: string;
        detail: string;
        /**
         * @description The error, as text.
         * @enum {string}
         */
        code:
          | "wrong_type"
          | "required"
          | "unknown_field"
          | "repeated_field"
          | "too_short"
          | "too_long"
          | "too_few"
          | "too_many"
          | "too_large"
          | "out_of_range"
          | "not_allowed"
          | "malformed"
          | "invalid_text"
          | "invalid_name"
          | "invalid_email"
          | "invalid_date_time"
          | "not_in_future"
          | "too_old"
          | "too_short_for_own_key"
          | "unsupported_url"
          | "not_supported"
          | "token_too_powerful"
          | "unsupported_voice"
          | "unsupported_model"
          | "nothing_to_say"
          | "unsupported_file"
          | "asset_kind_mismatch"
          | "wrong_size"
          | "asset_not_found"
          | "asset_not_usable"
          | "unknown_parameter"
          | "repeated_parameter"
          | "invalid_cursor"
          | "empty_window"
          | "window_too_long"
          | "not_as_signed";
      }[];
    };
  };
  responses: {
    /**
     * @description `already_member`: A user of the tenant has the email address already.
     *
     *     `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.
     */
    AlreadyMemberOrReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["AlreadyMemberProblem"]
          | components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /** @description `asset_in_use`: An avatar that is not deleted is built from the asset. */
    AssetInUse: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["AssetInUseProblem"];
      };
    };
    /** @description `avatar_not_ready`: The avatar exists, but its status is not `ready`, so no call can be held with it. */
    AvatarNotReady: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["AvatarNotReadyProblem"];
      };
    };
    /**
     * @description `avatar_not_ready`: The avatar exists, but its status is not `ready`, so no call can be held with it.
     *
     *     `quota_exceeded`: The tenant has the maximum number of active API keys, of assets, of their bytes, of webhook endpoints, or of transcripts that wait for another attempt.
     *
     *     `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.
     */
    AvatarNotReadyOrQuotaExceededOrReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["AvatarNotReadyProblem"]
          | components["schemas"]["QuotaExceededProblem"]
          | components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /** @description `body_too_large`: The body is larger than 128 KiB, or the file of an upload is larger than its kind allows. */
    BodyTooLarge: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["BodyTooLargeProblem"];
      };
    };
    /** @description `body_too_large`: The body is larger than 128 KiB, or the file of an upload is larger than its kind allows. */
    BodyTooLargeWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["BodyTooLargeProblem"];
      };
    };
    /** @description `call_not_running`: The call has ended, or must end. Nothing was said. */
    CallNotRunning: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["CallNotRunningProblem"];
      };
    };
    /**
     * @description `call_not_running`: The call has ended, or must end. Nothing was said.
     *
     *     `too_many_turns`: Eight turns of the call are `queued`. Nothing was added.
     */
    CallNotRunningOrTooManyTurns: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["CallNotRunningProblem"]
          | components["schemas"]["TooManyTurnsProblem"];
      };
    };
    /** @description `foreign_origin`: The `Origin` or `Sec-Fetch-Site` header shows that a page of another origin sent the request. */
    ForeignOriginWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["ForeignOriginProblem"];
      };
    };
    /** @description `insufficient_role`: The operation needs a greater role, or it is only for API keys (`requiredRole` is null), or only for people (`role` is null). */
    InsufficientRole: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InsufficientRoleProblem"];
      };
    };
    /**
     * @description `insufficient_role`: The operation needs a greater role, or it is only for API keys (`requiredRole` is null), or only for people (`role` is null).
     *
     *     `passkey_required`: The operation is allowed only within five minutes after the passkey was used.
     */
    InsufficientRoleOrPasskeyRequired: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["InsufficientRoleProblem"]
          | components["schemas"]["PasskeyRequiredProblem"];
      };
    };
    /**
     * @description `insufficient_scope`: The key does not hold the scope that the operation requires.
     *
     *     `grant_exceeds_caller`: The target key has, or would have, more permissions than the calling key; or it is an ancestor of the calling key; or the operation is allowed only for descendants of the calling key.
     *
     *     `insufficient_role`: The operation needs a greater role, or it is only for API keys (`requiredRole` is null), or only for people (`role` is null).
     */
    InsufficientScopeOrGrantExceedsCallerOrInsufficientRole: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["ScopeChallenge"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["InsufficientScopeProblem"]
          | components["schemas"]["GrantExceedsCallerProblem"]
          | components["schemas"]["InsufficientRoleProblem"];
      };
    };
    /**
     * @description `insufficient_scope`: The key does not hold the scope that the operation requires.
     *
     *     `grant_exceeds_caller`: The target key has, or would have, more permissions than the calling key; or it is an ancestor of the calling key; or the operation is allowed only for descendants of the calling key.
     *
     *     `insufficient_role`: The operation needs a greater role, or it is only for API keys (`requiredRole` is null), or only for people (`role` is null).
     *
     *     `passkey_required`: The operation is allowed only within five minutes after the passkey was used.
     */
    InsufficientScopeOrGrantExceedsCallerOrInsufficientRoleOrPasskeyRequired: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["ScopeChallenge"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["InsufficientScopeProblem"]
          | components["schemas"]["GrantExceedsCallerProblem"]
          | components["schemas"]["InsufficientRoleProblem"]
          | components["schemas"]["PasskeyRequiredProblem"];
      };
    };
    /**
     * @description `insufficient_scope`: The key does not hold the scope that the operation requires.
     *
     *     `insufficient_role`: The operation needs a greater role, or it is only for API keys (`requiredRole` is null), or only for people (`role` is null).
     */
    InsufficientScopeOrInsufficientRole: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["ScopeChallenge"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["InsufficientScopeProblem"]
          | components["schemas"]["InsufficientRoleProblem"];
      };
    };
    /**
     * @description `insufficient_scope`: The key does not hold the scope that the operation requires.
     *
     *     `insufficient_role`: The operation needs a greater role, or it is only for API keys (`requiredRole` is null), or only for people (`role` is null).
     *
     *     `passkey_required`: The operation is allowed only within five minutes after the passkey was used.
     */
    InsufficientScopeOrInsufficientRoleOrPasskeyRequired: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["ScopeChallenge"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["InsufficientScopeProblem"]
          | components["schemas"]["InsufficientRoleProblem"]
          | components["schemas"]["PasskeyRequiredProblem"];
      };
    };
    /** @description `internal_error`: A defect in the service. */
    InternalError: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InternalErrorProblem"];
      };
    };
    /** @description `internal_error`: A defect in the service. */
    InternalErrorWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InternalErrorProblem"];
      };
    };
    /** @description `invalid_invitation`: The link is malformed, was used before, has expired or was withdrawn, or its creator may no longer invite. */
    InvalidInvitationWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InvalidInvitationProblem"];
      };
    };
    /** @description `invalid_session`: The session of the cookie has ended or expired, or is unknown. */
    InvalidSessionWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InvalidSessionProblem"];
      };
    };
    /** @description `invalid_transition`: The current status of the resource does not allow this change. */
    InvalidTransition: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InvalidTransitionProblem"];
      };
    };
    /**
     * @description `invalid_transition`: The current status of the resource does not allow this change.
     *
     *     `rotation_in_progress`: The key, or the secret of the webhook endpoint, was rotated, and its older secret is valid until the overlap ends; the `Retry-After` header says when that is.
     *
     *     `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.
     */
    InvalidTransitionOrRotationInProgressOrReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "Retry-After": components["headers"]["OverlapRetryAfter"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["InvalidTransitionProblem"]
          | components["schemas"]["RotationInProgressProblem"]
          | components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /** @description `last_owner`: The user is the last owner of the tenant. Nothing was changed. */
    LastOwner: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["LastOwnerProblem"];
      };
    };
    /** @description `last_passkey`: The person could not sign in without this last passkey or identity. Nothing was changed. */
    LastPasskey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["LastPasskeyProblem"];
      };
    };
    /**
     * @description `malformed_json`: The body is empty, not UTF-8, not JSON, or nested more than 64 levels deep.
     *
     *     `malformed_request`: The body was incomplete, arrived too slowly or is a malformed form, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters.
     */
    MalformedJsonOrMalformedRequest: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["MalformedJsonProblem"]
          | components["schemas"]["MalformedRequestProblem"];
      };
    };
    /**
     * @description `malformed_json`: The body is empty, not UTF-8, not JSON, or nested more than 64 levels deep.
     *
     *     `malformed_request`: The body was incomplete, arrived too slowly or is a malformed form, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters.
     */
    MalformedJsonOrMalformedRequestWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["MalformedJsonProblem"]
          | components["schemas"]["MalformedRequestProblem"];
      };
    };
    /** @description `malformed_request`: The body was incomplete, arrived too slowly or is a malformed form, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters. */
    MalformedRequest: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["MalformedRequestProblem"];
      };
    };
    /** @description `malformed_request`: The body was incomplete, arrived too slowly or is a malformed form, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters. */
    MalformedRequestWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["MalformedRequestProblem"];
      };
    };
    /**
     * @description `missing_api_key`: No bearer credentials were sent.
     *
     *     `invalid_api_key`: The API key is malformed or unknown.
     *
     *     `revoked_api_key`: The key or one of its ancestors was revoked, or a rotation replaced this secret.
     *
     *     `expired_api_key`: The key or one of its ancestors has expired.
     *
     *     `invalid_session`: The session of the cookie has ended or expired, or is unknown.
     */
    MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["MissingApiKeyProblem"]
          | components["schemas"]["InvalidApiKeyProblem"]
          | components["schemas"]["RevokedApiKeyProblem"]
          | components["schemas"]["ExpiredApiKeyProblem"]
          | components["schemas"]["InvalidSessionProblem"];
      };
    };
    /** @description `not_found`: The resource does not exist, or the caller is not allowed to see it. */
    NotFound: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["NotFoundProblem"];
      };
    };
    /**
     * @description `not_found`: The resource does not exist, or the caller is not allowed to see it.
     *
     *     `invalid_invitation`: The link is malformed, was used before, has expired or was withdrawn, or its creator may no longer invite.
     */
    NotFoundOrInvalidInvitationWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["NotFoundProblem"]
          | components["schemas"]["InvalidInvitationProblem"];
      };
    };
    /**
     * @description `not_found`: The resource does not exist, or the caller is not allowed to see it.
     *
     *     `transcript_not_kept`: The session exists, and no transcript of it is kept: it is no call, or the tenant did not keep transcripts when the call began, or the transcript was deleted, by a request or because of its age.
     */
    NotFoundOrTranscriptNotKept: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["NotFoundProblem"]
          | components["schemas"]["TranscriptNotKeptProblem"];
      };
    };
    /** @description `not_found`: The resource does not exist, or the caller is not allowed to see it. */
    NotFoundWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["NotFoundProblem"];
      };
    };
    /** @description `precondition_failed`: The version of the resource does not match `If-Match`. */
    PreconditionFailed: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["PreconditionFailedProblem"];
      };
    };
    /** @description `quota_exceeded`: The tenant has the maximum number of active API keys, of assets, of their bytes, of webhook endpoints, or of transcripts that wait for another attempt. */
    QuotaExceeded: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["QuotaExceededProblem"];
      };
    };
    /**
     * @description `quota_exceeded`: The tenant has the maximum number of active API keys, of assets, of their bytes, of webhook endpoints, or of transcripts that wait for another attempt.
     *
     *     `already_member`: A user of the tenant has the email address already.
     */
    QuotaExceededOrAlreadyMemberWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["QuotaExceededProblem"]
          | components["schemas"]["AlreadyMemberProblem"];
      };
    };
    /**
     * @description `quota_exceeded`: The tenant has the maximum number of active API keys, of assets, of their bytes, of webhook endpoints, or of transcripts that wait for another attempt.
     *
     *     `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.
     */
    QuotaExceededOrReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["QuotaExceededProblem"]
          | components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /** @description `rate_limited`: A key with its descendants, or a tenant, has sent too many requests. Or too many of these are in progress: uploads of a tenant or a client, files that are sent to a client, reports of leaked keys, or tests, resends and recoveries of webhooks. Or all slots are in use, and a call in a room of your own waits for its turn. The `Retry-After` header says when to try again. */
    RateLimited: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["RateLimitedProblem"];
      };
    };
    /**
     * @description `rate_limited`: A key with its descendants, or a tenant, has sent too many requests. Or too many of these are in progress: uploads of a tenant or a client, files that are sent to a client, reports of leaked keys, or tests, resends and recoveries of webhooks. Or all slots are in use, and a call in a room of your own waits for its turn. The `Retry-After` header says when to try again.
     *
     *     `concurrency_limit_reached`: The calling key (`limitedBy` is `self`), an ancestor (`ancestor`) or the tenant (`tenant`) has `maxConcurrentSessions` open sessions. For the key's own limit, the problem also has `liveSessions`, `activeSessions`, `connectingSessions` and `pendingSessions`. Or too many videos of the tenant are queued or rendered. Nothing was held.
     */
    RateLimitedOrConcurrencyLimitReached: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["RateLimitedProblem"]
          | components["schemas"]["ConcurrencyLimitReachedProblem"];
      };
    };
    /**
     * @description All slots are in use: the call waits for its turn.
     *
     *     `rate_limited`: A key with its descendants, or a tenant, has sent too many requests. Or too many of these are in progress: uploads of a tenant or a client, files that are sent to a client, reports of leaked keys, or tests, resends and recoveries of webhooks. Or all slots are in use, and a call in a room of your own waits for its turn. The `Retry-After` header says when to try again.
     *
     *     `concurrency_limit_reached`: The calling key (`limitedBy` is `self`), an ancestor (`ancestor`) or the tenant (`tenant`) has `maxConcurrentSessions` open sessions. For the key's own limit, the problem also has `liveSessions`, `activeSessions`, `connectingSessions` and `pendingSessions`. Or too many videos of the tenant are queued or rendered. Nothing was held.
     */
    RateLimitedOrConcurrencyLimitReachedOrQueued: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["QueuedCall"];
        "application/problem+json":
          | components["schemas"]["RateLimitedProblem"]
          | components["schemas"]["ConcurrencyLimitReachedProblem"];
      };
    };
    /** @description `rate_limited`: A key with its descendants, or a tenant, has sent too many requests. Or too many of these are in progress: uploads of a tenant or a client, files that are sent to a client, reports of leaked keys, or tests, resends and recoveries of webhooks. Or all slots are in use, and a call in a room of your own waits for its turn. The `Retry-After` header says when to try again. */
    RateLimitedWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["RateLimitedProblem"];
      };
    };
    /** @description `realtime_not_configured`: The service has no LiveKit server, or no secret for avatar workers, so it cannot hold calls. */
    RealtimeNotConfigured: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["RealtimeNotConfiguredProblem"];
      };
    };
    /**
     * @description `realtime_not_configured`: The service has no LiveKit server, or no secret for avatar workers, so it cannot hold calls.
     *
     *     `conversation_not_configured`: The avatar worker of the call has no language model to answer a turn, or is of a release that takes no turns.
     */
    RealtimeNotConfiguredOrConversationNotConfigured: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["RealtimeNotConfiguredProblem"]
          | components["schemas"]["ConversationNotConfiguredProblem"];
      };
    };
    /**
     * @description `realtime_not_configured`: The service has no LiveKit server, or no secret for avatar workers, so it cannot hold calls.
     *
     *     `recording_unsupported`: The start has `recording`, while an agent speaks with the person (`CALL_AGENT_NAME`).
     */
    RealtimeNotConfiguredOrRecordingUnsupported: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["RealtimeNotConfiguredProblem"]
          | components["schemas"]["RecordingUnsupportedProblem"];
      };
    };
    /** @description `recording_not_ready`: The recording is not `ready`: its call goes on, its file is made, or it has failed or expired. */
    RecordingNotReady: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["RecordingNotReadyProblem"];
      };
    };
    /**
     * @description `recording_unavailable`: The start has `recording`, and no avatar worker that runs can record; the `Retry-After` header says when to try again.
     *
     *     `unavailable`: The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again.
     *
     *     `outcome_unknown`: The request may have been executed: the database did not respond in time, or the connection to it was lost.
     */
    RecordingUnavailableOrUnavailableOrOutcomeUnknown: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["RecordingUnavailableProblem"]
          | components["schemas"]["UnavailableProblem"]
          | components["schemas"]["OutcomeUnknownProblem"];
      };
    };
    /** @description `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource. */
    ReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /**
     * @description `rotation_in_progress`: The key, or the secret of the webhook endpoint, was rotated, and its older secret is valid until the overlap ends; the `Retry-After` header says when that is.
     *
     *     `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.
     */
    RotationInProgressOrReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "Retry-After": components["headers"]["OverlapRetryAfter"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["RotationInProgressProblem"]
          | components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /** @description `session_closed`: The usage session has ended, or its lease has expired; or it was released before with another `usedCreditMicros`. Nothing was changed. */
    SessionClosed: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["SessionClosedProblem"];
      };
    };
    /**
     * @description `session_closed`: The usage session has ended, or its lease has expired; or it was released before with another `usedCreditMicros`. Nothing was changed.
     *
     *     `call_not_resumable`: The call is open, but cannot go on in another room: the person has not joined, the avatar speaks for an agent, or the avatar worker is of an earlier release.
     *
     *     `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.
     */
    SessionClosedOrCallNotResumableOrReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["SessionClosedProblem"]
          | components["schemas"]["CallNotResumableProblem"]
          | components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /**
     * @description `spend_limit_exceeded`: The spend cap of the calling key (`limitedBy` is `self`), or of an ancestor of it (`ancestor`), leaves less than `requiredCreditMicros`. Nothing was held.
     *
     *     `insufficient_credits`: The available balance of the tenant, in the environment of the calling key, is less than `requiredCreditMicros`. Nothing was held.
     */
    SpendLimitExceededOrInsufficientCredits: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["SpendLimitExceededProblem"]
          | components["schemas"]["InsufficientCreditsProblem"];
      };
    };
    /** @description `unavailable`: The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again. */
    Unavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["UnavailableProblem"];
      };
    };
    /**
     * @description `unavailable`: The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again.
     *
     *     `outcome_unknown`: The request may have been executed: the database did not respond in time, or the connection to it was lost.
     */
    UnavailableOrOutcomeUnknown: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["UnavailableProblem"]
          | components["schemas"]["OutcomeUnknownProblem"];
      };
    };
    /**
     * @description `unavailable`: The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again.
     *
     *     `outcome_unknown`: The request may have been executed: the database did not respond in time, or the connection to it was lost.
     */
    UnavailableOrOutcomeUnknownWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["UnavailableProblem"]
          | components["schemas"]["OutcomeUnknownProblem"];
      };
    };
    /**
     * @description `unavailable`: The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again.
     *
     *     `provider_unavailable`: The provider of OpenID Connect did not respond in time, or its response is not valid; the `Retry-After` header says when to try again. Passkeys do not need it.
     *
     *     `outcome_unknown`: The request may have been executed: the database did not respond in time, or the connection to it was lost.
     */
    UnavailableOrProviderUnavailableOrOutcomeUnknown: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["UnavailableProblem"]
          | components["schemas"]["ProviderUnavailableProblem"]
          | components["schemas"]["OutcomeUnknownProblem"];
      };
    };
    /**
     * @description `unavailable`: The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again.
     *
     *     `provider_unavailable`: The provider of OpenID Connect did not respond in time, or its response is not valid; the `Retry-After` header says when to try again. Passkeys do not need it.
     *
     *     `outcome_unknown`: The request may have been executed: the database did not respond in time, or the connection to it was lost.
     */
    UnavailableOrProviderUnavailableOrOutcomeUnknownWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["UnavailableProblem"]
          | components["schemas"]["ProviderUnavailableProblem"]
          | components["schemas"]["OutcomeUnknownProblem"];
      };
    };
    /** @description `unavailable`: The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again. */
    UnavailableWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["UnavailableProblem"];
      };
    };
    /** @description `unsupported_media_type`: The `Content-Type` is not the one that the operation takes, which is `application/json` except for uploads by a form (`multipart/form-data`), or the request has a `Content-Encoding`. */
    UnsupportedMediaType: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["UnsupportedMediaTypeProblem"];
      };
    };
    /** @description `unsupported_media_type`: The `Content-Type` is not the one that the operation takes, which is `application/json` except for uploads by a form (`multipart/form-data`), or the request has a `Content-Encoding`. */
    UnsupportedMediaTypeWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["UnsupportedMediaTypeProblem"];
      };
    };
    /** @description `validation_failed`: Fields, query parameters or headers do not meet their constraints; `errors` lists every failure. */
    ValidationFailed: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["ValidationFailedProblem"];
      };
    };
    /**
     * @description `validation_failed`: Fields, query parameters or headers do not meet their constraints; `errors` lists every failure.
     *
     *     `idempotency_key_reused`: The `Idempotency-Key` was used before, for a request with another body.
     */
    ValidationFailedOrIdempotencyKeyReused: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["ValidationFailedProblem"]
          | components["schemas"]["IdempotencyKeyReusedProblem"];
      };
    };
    /**
     * @description `validation_failed`: Fields, query parameters or headers do not meet their constraints; `errors` lists every failure.
     *
     *     `invalid_passkey`: The response of the authenticator is malformed, was not made for this service, has a wrong signature, was used before or came too late; or the passkey is unknown.
     *
     *     `idempotency_key_reused`: The `Idempotency-Key` was used before, for a request with another body.
     */
    ValidationFailedOrInvalidPasskeyOrIdempotencyKeyReused: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["ValidationFailedProblem"]
          | components["schemas"]["InvalidPasskeyProblem"]
          | components["schemas"]["IdempotencyKeyReusedProblem"];
      };
    };
    /**
     * @description `validation_failed`: Fields, query parameters or headers do not meet their constraints; `errors` lists every failure.
     *
     *     `invalid_passkey`: The response of the authenticator is malformed, was not made for this service, has a wrong signature, was used before or came too late; or the passkey is unknown.
     */
    ValidationFailedOrInvalidPasskeyWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["ValidationFailedProblem"]
          | components["schemas"]["InvalidPasskeyProblem"];
      };
    };
    /** @description `validation_failed`: Fields, query parameters or headers do not meet their constraints; `errors` lists every failure. */
    ValidationFailedWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["ValidationFailedProblem"];
      };
    };
    /** @description The receiver wants no more events: the endpoint is disabled. */
    WebhookGone: {
      headers: {
        [name: string]: unknown;
      };
      content?: never;
    };
    /** @description The event was not received. It is sent again, up to ten times within 75 hours. */
    WebhookNotReceived: {
      headers: {
        [name: string]: unknown;
      };
      content?: never;
    };
    /** @description The event was received. Only the first 512 bytes of the body are stored. */
    WebhookReceived: {
      headers: {
        [name: string]: unknown;
      };
      content?: never;
    };
    /** @description The receiver wants fewer requests for a while. `Retry-After` is respected. */
    WebhookTooMany: {
      headers: {
        [name: string]: unknown;
      };
      content?: never;
    };
  };
  parameters: {
    /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
    RequestId: string;
    /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
    Traceparent: string;
    /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
    IdempotencyKey: string;
    /** @description Has no effect: the operation creates nothing, and each response has a new challenge. A malformed key is rejected. */
    IdempotencyKeyWithoutEffect: string;
    /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
    Environment: string;
    /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
    IfMatch: string;
    /** @description The versions that you already have, such as `"1"`. If the resource has one of them, the response is 304. A malformed value is ignored. */
    IfNoneMatch: string;
  };
  requestBodies: never;
  headers: {
    /** @description Id of the request: the one that you sent if it is well-formed, otherwise a new UUIDv7. */
    "X-Request-Id": string;
    /** @description The trace of the request, if tracing is enabled (W3C Trace Context). */
    traceparent: string;
    /** @description Caches must not store the response. */
    "Cache-Control": "no-store";
    /** @description Clients must not guess the media type. */
    "X-Content-Type-Options": "nosniff";
    /** @description The request headers on which the response depends. */
    Vary: "Accept";
    /** @description The resources that the HTML page may load. */
    "Content-Security-Policy": string;
    /** @description Isolates the HTML page from other origins. */
    "Cross-Origin-Opener-Policy": "same-origin";
    /** @description The HTML page sends no `Referer`. */
    "Referrer-Policy": "no-referrer";
    /** @description The version of the resource, for `If-Match` and `If-None-Match`. */
    ETag: string;
    /** @description Path of the created resource. */
    Location: string;
    /** @description The page of the dashboard. */
    LocationOfPage: string;
    /** @description Path of the created or changed resource; on `replay_unavailable`. */
    LocationOfReplay: string;
    /** @description The response is a replay of an earlier one. */
    "Idempotent-Replayed": "true";
    /** @description The name of the file. */
    "Content-Disposition": string;
    /** @description The file is compressed with gzip for a client that accepts it. */
    VaryOfFile: "Accept-Encoding";
    /** @description The cookie of the session, or its deletion. */
    "Set-Cookie": string;
    /** @description Seconds to wait before the next attempt. */
    "Retry-After": string;
    /** @description Seconds until the overlap ends; on `rotation_in_progress`. */
    OverlapRetryAfter: string;
    /** @description How to authenticate (RFC 6750). */
    "WWW-Authenticate": string;
    /** @description The missing scope (RFC 6750); on `insufficient_scope`. */
    ScopeChallenge: string;
    /** @description The rate limits of the key and of its tenant, if any. */
    "RateLimit-Policy": string;
    /** @description The remaining requests and the seconds until the limit resets. */
    RateLimit: string;
  };
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  listApiKeys: {
    parameters: {
      query?: {
        /** @description Include only items with this status. */
        status?: "active" | "revoked" | "expired";
        /** @description Live and test resources are separate: a test key cannot see live resources. */
        environment?: "live" | "test";
        /** @description Include only the resource with this id. */
        id?: string;
        /** @description Include only resources whose name contains this text, in upper or lower case. A page can have fewer items than `limit`, or none, and still have a `nextCursor`. */
        name?: string;
        /** @description Include only resources that were created at this time or later. */
        from?: string;
        /** @description Include only resources that were created before this time. */
        to?: string;
        /** @description Include only the descendants of the key with this id. */
        ancestorId?: string;
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
        /** @description Adds `total` to the page: how many items match the filters. */
        total?: "true";
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of keys. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ApiKeyPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateApiKey"];
      };
    };
    responses: {
      /** @description The key, with its secret. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ApiKeyWithSecret"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrGrantExceedsCallerOrInsufficientRoleOrPasskeyRequired"];
      409: components["responses"]["QuotaExceededOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getCallingApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The calling key. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ApiKey"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `key_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The key. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ApiKeyWithCreator"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  revokeApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `key_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The key after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ApiKey"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrGrantExceedsCallerOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  updateApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `key_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateApiKey"];
      };
    };
    responses: {
      /** @description The key after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ApiKey"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrGrantExceedsCallerOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransition"];
      412: components["responses"]["PreconditionFailed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  rotateApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `key_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RotateApiKey"];
      };
    };
    responses: {
      /** @description The key, with its new secret. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ApiKeyWithSecret"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrGrantExceedsCallerOrInsufficientRoleOrPasskeyRequired"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransitionOrRotationInProgressOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  createRemoteAsset: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateRemoteAsset"];
      };
    };
    responses: {
      /** @description The asset. Its file is fetched now. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Asset"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      409: components["responses"]["QuotaExceeded"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listAssets: {
    parameters: {
      query?: {
        /** @description Kind of the file. */
        kind?: "image" | "video" | "audio";
        /** @description Include only items with this status. */
        status?: "pending_upload" | "uploaded" | "processing" | "ready" | "failed" | "deleted";
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of assets. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AssetPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  uploadAsset: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "multipart/form-data": components["schemas"]["UploadAsset"];
      };
    };
    responses: {
      /** @description The asset. Its file is waiting to be processed. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Asset"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      409: components["responses"]["QuotaExceeded"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getAsset: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description The versions that you already have, such as `"1"`. If the resource has one of them, the response is 304. A malformed value is ignored. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ast_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The asset. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Asset"];
        };
      };
      /** @description You already have this version. */
      304: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteAsset: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ast_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The asset after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Asset"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["AssetInUse"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  createUpload: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateUpload"];
      };
    };
    responses: {
      /** @description The asset, and where to send its file. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AssetWithUpload"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      409: components["responses"]["QuotaExceeded"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  completeUpload: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ast_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["CompleteUpload"];
      };
    };
    responses: {
      /** @description The asset after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Asset"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransition"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listAvatars: {
    parameters: {
      query?: {
        /** @description Include only items with this status. */
        status?: "draft" | "preprocessing" | "ready" | "failed" | "disabled" | "deleted";
        /** @description Kind of the source from which the avatar is built. */
        sourceKind?: "image" | "video";
        /** @description Include only the resource with this id. */
        id?: string;
        /** @description Include only resources whose name contains this text, in upper or lower case. A page can have fewer items than `limit`, or none, and still have a `nextCursor`. */
        name?: string;
        /** @description Include only resources that were created at this time or later. */
        from?: string;
        /** @description Include only resources that were created before this time. */
        to?: string;
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
        /** @description Adds `total` to the page: how many items match the filters. */
        total?: "true";
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of avatars. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AvatarPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateAvatar"];
      };
    };
    responses: {
      /** @description The avatar. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Avatar"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description The versions that you already have, such as `"1"`. If the resource has one of them, the response is 304. A malformed value is ignored. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ava_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The avatar. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Avatar"];
        };
      };
      /** @description You already have this version. */
      304: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ava_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The avatar after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Avatar"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  updateAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ava_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateAvatar"];
      };
    };
    responses: {
      /** @description The avatar after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Avatar"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransition"];
      412: components["responses"]["PreconditionFailed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  prepareAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ava_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["PrepareAvatar"];
      };
    };
    responses: {
      /** @description The avatar after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Avatar"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransition"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listModels: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description All models, on one page. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ModelPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listVoices: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description All voices, on one page. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["VoicePage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getVoiceSample: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of a voice, such as `flite-slt`. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The sound. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "audio/wav": Blob;
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listVideos: {
    parameters: {
      query?: {
        /** @description Include only items with this status. */
        status?: "queued" | "rendering" | "ready" | "failed" | "canceled" | "deleted";
        /** @description Include only videos of this avatar. */
        avatarId?: string;
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of videos. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["VideoPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createVideo: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateVideo"];
      };
    };
    responses: {
      /** @description The video. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Video"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      402: components["responses"]["SpendLimitExceededOrInsufficientCredits"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["AvatarNotReady"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimitedOrConcurrencyLimitReached"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getVideo: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description The versions that you already have, such as `"1"`. If the resource has one of them, the response is 304. A malformed value is ignored. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `vid_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The video. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Video"];
        };
      };
      /** @description You already have this version. */
      304: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteVideo: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `vid_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The video after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Video"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["AssetInUse"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getCreditBalance: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The balance. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CreditBalance"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  updateCreditBalance: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateCreditBalance"];
      };
    };
    responses: {
      /** @description The balance, with the threshold. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CreditBalance"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listCreditEntries: {
    parameters: {
      query?: {
        /** @description Include only items with this kind. */
        kind?: "grant" | "hold" | "settle" | "release" | "expire" | "void" | "adjust";
        /** @description Include only items with this apiKeyId. */
        apiKeyId?: string;
        /** @description Include only items with this sessionId. */
        sessionId?: string;
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
        /** @description Adds `total` to the page: how many items match the filters. */
        total?: "true";
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of entries. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CreditEntryPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  exportCreditEntries: {
    parameters: {
      query?: {
        /** @description Include only items with this kind. */
        kind?: "grant" | "hold" | "settle" | "release" | "expire" | "void" | "adjust";
        /** @description Include only items with this apiKeyId. */
        apiKeyId?: string;
        /** @description Include only items with this sessionId. */
        sessionId?: string;
        /** @description Maximum number of rows in the file; default 100000. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The entries. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Content-Disposition": components["headers"]["Content-Disposition"];
          Vary: components["headers"]["VaryOfFile"];
          [name: string]: unknown;
        };
        content: {
          "text/csv": string;
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listUsageSessions: {
    parameters: {
      query?: {
        /** @description Start of the time window, inclusive; at most 90 days before `to`. Default: 30 days before `to`. */
        from?: string;
        /** @description End of the time window, exclusive. Default: the end of the present second. */
        to?: string;
        /** @description Include only sessions whose `metadata` has this `user_id`. */
        endUserId?: string;
        /** @description Include only items with this status. */
        status?: "reserved" | "started" | "released" | "failed";
        /** @description Include only sessions that this key opened. */
        apiKeyId?: string;
        /** @description Include only sessions with this avatar. */
        avatarId?: string;
        /** @description Include only sessions of calls, or only of videos. */
        kind?: "call" | "video";
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
        /** @description Adds `total` to the page: how many items match the filters. */
        total?: "true";
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of sessions. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UsageSessionPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  openUsageSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateUsageSession"];
      };
    };
    responses: {
      /** @description The session. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UsageSession"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      402: components["responses"]["SpendLimitExceededOrInsufficientCredits"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["AvatarNotReady"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimitedOrConcurrencyLimitReached"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  exportUsageSessions: {
    parameters: {
      query?: {
        /** @description Start of the time window, inclusive; at most 90 days before `to`. Default: 30 days before `to`. */
        from?: string;
        /** @description End of the time window, exclusive. Default: the end of the present second. */
        to?: string;
        /** @description Include only sessions whose `metadata` has this `user_id`. */
        endUserId?: string;
        /** @description Include only items with this status. */
        status?: "reserved" | "started" | "released" | "failed";
        /** @description Include only sessions that this key opened. */
        apiKeyId?: string;
        /** @description Include only sessions with this avatar. */
        avatarId?: string;
        /** @description Include only sessions of calls, or only of videos. */
        kind?: "call" | "video";
        /** @description Maximum number of rows in the file; default 100000. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The sessions. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Content-Disposition": components["headers"]["Content-Disposition"];
          Vary: components["headers"]["VaryOfFile"];
          [name: string]: unknown;
        };
        content: {
          "text/csv": string;
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getUsageSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ses_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The session. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UsageSessionWithNames"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  reportUsage: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ses_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReportUsage"];
      };
    };
    responses: {
      /** @description The session after the report, and whether it must end. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReportedSession"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["SessionClosed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  releaseSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ses_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["ReleaseSession"];
      };
    };
    responses: {
      /** @description The session after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UsageSession"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["SessionClosed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getUsageSummary: {
    parameters: {
      query?: {
        /** @description Start of the time window, inclusive; at most 90 days before `to`. Default: 30 days before `to`. */
        from?: string;
        /** @description End of the time window, exclusive. Default: the end of the present second. */
        to?: string;
        /** @description By key, which is the default, or by avatar. */
        groupBy?: "apiKey" | "avatar";
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of sums. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UsageSummaryPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getSettings: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The settings. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["TenantSettings"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  updateSettings: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateTenantSettings"];
      };
    };
    responses: {
      /** @description The settings after the change. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["TenantSettings"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      412: components["responses"]["PreconditionFailed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  startCall: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["StartCall"];
      };
    };
    responses: {
      /** @description The grant of the call. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CallGrant"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      402: components["responses"]["SpendLimitExceededOrInsufficientCredits"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["AvatarNotReadyOrQuotaExceededOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimitedOrConcurrencyLimitReachedOrQueued"];
      500: components["responses"]["InternalError"];
      501: components["responses"]["RealtimeNotConfiguredOrRecordingUnsupported"];
      503: components["responses"]["RecordingUnavailableOrUnavailableOrOutcomeUnknown"];
    };
  };
  resumeCall: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ResumeCall"];
      };
    };
    responses: {
      /** @description The grant of the call. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CallGrant"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["SessionClosedOrCallNotResumableOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      501: components["responses"]["RealtimeNotConfigured"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  releaseCall: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReleaseCall"];
      };
    };
    responses: {
      /** @description The request was received. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ReleasedCall"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  prepareCall: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["PrepareCall"];
      };
    };
    responses: {
      /** @description The request was received. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PreparedCall"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["AvatarNotReady"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      501: components["responses"]["RealtimeNotConfigured"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  createTurn: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateTurn"];
      };
    };
    responses: {
      /** @description The turn is waiting. */
      202: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Turn"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["CallNotRunningOrTooManyTurns"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      501: components["responses"]["RealtimeNotConfiguredOrConversationNotConfigured"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getTurn: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `trn_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The turn. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Turn"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  interruptCall: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["InterruptCall"];
      };
    };
    responses: {
      /** @description The interruption was accepted. */
      202: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["InterruptedCall"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["CallNotRunning"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      501: components["responses"]["RealtimeNotConfiguredOrConversationNotConfigured"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getTranscript: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ses_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The transcript. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Transcript"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFoundOrTranscriptNotKept"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteTranscript: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ses_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The transcript, without its segments. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Transcript"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFoundOrTranscriptNotKept"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getConnectionHistory: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ses_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The observations, oldest first. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ConnectionHistory"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listRecordings: {
    parameters: {
      query?: {
        /** @description Include only recordings of this call. */
        sessionId?: string;
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of recordings. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["RecordingPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getRecording: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `rec_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The recording. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Recording"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteRecording: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `rec_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The recording was deleted. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["DeletedRecording"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getRecordingAccess: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `rec_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The URL of the file. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["RecordingAccess"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["RecordingNotReady"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  listWebhookEndpoints: {
    parameters: {
      query?: {
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of endpoints. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpointPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateWebhookEndpoint"];
      };
    };
    responses: {
      /** @description The endpoint, with its secret. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpointWithSecret"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRoleOrPasskeyRequired"];
      409: components["responses"]["QuotaExceededOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `whe_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The endpoint. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpoint"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `whe_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The endpoint in its last state. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpoint"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  updateWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `whe_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateWebhookEndpoint"];
      };
    };
    responses: {
      /** @description The endpoint after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpoint"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRoleOrPasskeyRequired"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  rotateWebhookSecret: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `whe_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["NoFields"];
      };
    };
    responses: {
      /** @description The endpoint, with its new secret. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookEndpointWithSecret"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRoleOrPasskeyRequired"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["RotationInProgressOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  testWebhookEndpoint: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `whe_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["NoFields"];
      };
    };
    responses: {
      /** @description The delivery after its first attempt. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookDelivery"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransition"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  recoverWebhookDeliveries: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `whe_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RecoverDeliveries"];
      };
    };
    responses: {
      /** @description The number of deliveries that are sent again, and the time of the recovery. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["RecoveredDeliveries"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransition"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listWebhookDeliveries: {
    parameters: {
      query?: {
        /** @description Include only items with this endpointId. */
        endpointId?: string;
        /** @description Include only items with this status. */
        status?: "pending" | "delivered" | "failed" | "canceled";
        /** @description Include only items with this eventType. */
        eventType?:
          | "api_key.created"
          | "api_key.updated"
          | "api_key.rotated"
          | "api_key.revoked"
          | "api_key.reported_leaked"
          | "api_key.spend_limit_reached"
          | "api_key.expiring"
          | "avatar.created"
          | "avatar.updated"
          | "avatar.deleted"
          | "avatar.prepared"
          | "avatar.preparation_failed"
          | "asset.created"
          | "asset.uploaded"
          | "asset.ready"
          | "asset.failed"
          | "asset.deleted"
          | "credits.granted"
          | "credits.voided"
          | "credits.adjusted"
          | "credits.limit_changed"
          | "credits.low"
          | "credits.exhausted"
          | "usage_session.opened"
          | "usage_session.started"
          | "usage_session.ended"
          | "video.ready"
          | "video.failed"
          | "recording.ready"
          | "recording.failed"
          | "webhook_endpoint.disabled"
          | "webhook_endpoint.test";
        /** @description Include only items with this targetId. */
        targetId?: string;
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
        /** @description Adds `total` to the page: how many items match the filters. */
        total?: "true";
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of deliveries. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookDeliveryPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getWebhookDelivery: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `whd_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The delivery. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookDelivery"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  resendWebhookDelivery: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `whd_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["NoFields"];
      };
    };
    responses: {
      /** @description The delivery after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookDelivery"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listAuditEvents: {
    parameters: {
      query?: {
        /** @description Include only items with this action. */
        action?:
          | "api_key.created"
          | "api_key.updated"
          | "api_key.rotated"
          | "api_key.revoked"
          | "api_key.reported_leaked"
          | "avatar.created"
          | "avatar.updated"
          | "avatar.deleted"
          | "avatar.prepared"
          | "avatar.preparation_failed"
          | "asset.created"
          | "asset.uploaded"
          | "asset.ready"
          | "asset.failed"
          | "asset.deleted"
          | "user.created"
          | "user.updated"
          | "user.deleted"
          | "user_session.created"
          | "user_session.verified"
          | "user_session.ended"
          | "invitation.created"
          | "invitation.deleted"
          | "passkey.created"
          | "passkey.updated"
          | "passkey.deleted"
          | "identity.created"
          | "identity.deleted"
          | "credits.granted"
          | "credits.voided"
          | "credits.adjusted"
          | "credits.limit_changed"
          | "webhook_endpoint.created"
          | "webhook_endpoint.updated"
          | "webhook_endpoint.deleted"
          | "webhook_endpoint.secret_rotated"
          | "webhook_endpoint.disabled"
          | "usage_session.ended"
          | "settings.updated"
          | "transcript.deleted"
          | "recording.deleted";
        /** @description Include only items with this targetId. */
        targetId?: string;
        /** @description Include only events of this key or person. */
        actorId?: string;
        /** @description Include only items with this actorKeyId. */
        actorKeyId?: string;
        /** @description Include only events from this time on. */
        from?: string;
        /** @description Include only events before this time. */
        to?: string;
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
        /** @description Adds `total` to the page: how many items match the filters. */
        total?: "true";
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of events. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AuditEventPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  exportAuditEvents: {
    parameters: {
      query?: {
        /** @description Include only items with this action. */
        action?:
          | "api_key.created"
          | "api_key.updated"
          | "api_key.rotated"
          | "api_key.revoked"
          | "api_key.reported_leaked"
          | "avatar.created"
          | "avatar.updated"
          | "avatar.deleted"
          | "avatar.prepared"
          | "avatar.preparation_failed"
          | "asset.created"
          | "asset.uploaded"
          | "asset.ready"
          | "asset.failed"
          | "asset.deleted"
          | "user.created"
          | "user.updated"
          | "user.deleted"
          | "user_session.created"
          | "user_session.verified"
          | "user_session.ended"
          | "invitation.created"
          | "invitation.deleted"
          | "passkey.created"
          | "passkey.updated"
          | "passkey.deleted"
          | "identity.created"
          | "identity.deleted"
          | "credits.granted"
          | "credits.voided"
          | "credits.adjusted"
          | "credits.limit_changed"
          | "webhook_endpoint.created"
          | "webhook_endpoint.updated"
          | "webhook_endpoint.deleted"
          | "webhook_endpoint.secret_rotated"
          | "webhook_endpoint.disabled"
          | "usage_session.ended"
          | "settings.updated"
          | "transcript.deleted"
          | "recording.deleted";
        /** @description Include only items with this targetId. */
        targetId?: string;
        /** @description Include only events of this key or person. */
        actorId?: string;
        /** @description Include only items with this actorKeyId. */
        actorKeyId?: string;
        /** @description Include only events from this time on. */
        from?: string;
        /** @description Include only events before this time. */
        to?: string;
        /** @description Maximum number of rows in the file; default 100000. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The events. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Content-Disposition": components["headers"]["Content-Disposition"];
          Vary: components["headers"]["VaryOfFile"];
          [name: string]: unknown;
        };
        content: {
          "text/csv": string;
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientScopeOrInsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  reportLeakedKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReportLeakedKey"];
      };
    };
    responses: {
      /** @description The report was received. The response does not show whether a key was revoked. */
      202: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["LeakedKeyReport"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequestWithoutKey"];
      413: components["responses"]["BodyTooLargeWithoutKey"];
      415: components["responses"]["UnsupportedMediaTypeWithoutKey"];
      422: components["responses"]["ValidationFailedWithoutKey"];
      429: components["responses"]["RateLimitedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableOrOutcomeUnknownWithoutKey"];
    };
  };
  beginInvitation: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["InvitationOptionsRequest"];
      };
    };
    responses: {
      /** @description The invitation, and the options. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["InvitationOptions"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequestWithoutKey"];
      403: components["responses"]["ForeignOriginWithoutKey"];
      404: components["responses"]["InvalidInvitationWithoutKey"];
      413: components["responses"]["BodyTooLargeWithoutKey"];
      415: components["responses"]["UnsupportedMediaTypeWithoutKey"];
      422: components["responses"]["ValidationFailedWithoutKey"];
      429: components["responses"]["RateLimitedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableOrOutcomeUnknownWithoutKey"];
    };
  };
  acceptInvitation: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["AcceptInvitation"];
      };
    };
    responses: {
      /** @description The session. `Set-Cookie` contains its cookie. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CurrentSession"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequestWithoutKey"];
      403: components["responses"]["ForeignOriginWithoutKey"];
      404: components["responses"]["InvalidInvitationWithoutKey"];
      409: components["responses"]["QuotaExceededOrAlreadyMemberWithoutKey"];
      413: components["responses"]["BodyTooLargeWithoutKey"];
      415: components["responses"]["UnsupportedMediaTypeWithoutKey"];
      422: components["responses"]["ValidationFailedOrInvalidPasskeyWithoutKey"];
      429: components["responses"]["RateLimitedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableOrOutcomeUnknownWithoutKey"];
    };
  };
  listInvitations: {
    parameters: {
      query?: {
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of invitations. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["InvitationPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createInvitation: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateInvitation"];
      };
    };
    responses: {
      /** @description The invitation, with its link. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["InvitationWithUrl"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      409: components["responses"]["AlreadyMemberOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  deleteInvitation: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `inv_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The invitation before it was withdrawn. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Invitation"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  beginSignIn: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["Nothing"];
      };
    };
    responses: {
      /** @description The options. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SignInOptions"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequestWithoutKey"];
      403: components["responses"]["ForeignOriginWithoutKey"];
      413: components["responses"]["BodyTooLargeWithoutKey"];
      415: components["responses"]["UnsupportedMediaTypeWithoutKey"];
      422: components["responses"]["ValidationFailedWithoutKey"];
      429: components["responses"]["RateLimitedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableOrOutcomeUnknownWithoutKey"];
    };
  };
  listUserSessions: {
    parameters: {
      query?: {
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of sessions. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UserSessionPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  signIn: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SignIn"];
      };
    };
    responses: {
      /** @description The session. `Set-Cookie` contains its cookie. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CurrentSession"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequestWithoutKey"];
      401: components["responses"]["InvalidSessionWithoutKey"];
      403: components["responses"]["ForeignOriginWithoutKey"];
      413: components["responses"]["BodyTooLargeWithoutKey"];
      415: components["responses"]["UnsupportedMediaTypeWithoutKey"];
      422: components["responses"]["ValidationFailedOrInvalidPasskeyWithoutKey"];
      429: components["responses"]["RateLimitedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableOrOutcomeUnknownWithoutKey"];
    };
  };
  getCurrentUserSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The session. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CurrentSession"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  endCurrentUserSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The session before its end. `Set-Cookie` deletes its cookie. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UserSession"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  beginVerification: {
    parameters: {
      query?: never;
      header?: {
        /** @description Has no effect: the operation creates nothing, and each response has a new challenge. A malformed key is rejected. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKeyWithoutEffect"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["Nothing"];
      };
    };
    responses: {
      /** @description The options. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["VerificationOptions"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  verifyUserSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SignIn"];
      };
    };
    responses: {
      /** @description The session. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["CurrentSession"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrInvalidPasskeyOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  endUserSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `uss_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The session before its end. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UserSession"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listUsers: {
    parameters: {
      query?: {
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of users. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UserPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getUser: {
    parameters: {
      query?: never;
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `usr_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The user. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["User"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteUser: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `usr_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The user before the removal. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["User"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["LastOwner"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  updateUser: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `usr_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateUser"];
      };
    };
    responses: {
      /** @description The user after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["User"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["LastOwner"];
      412: components["responses"]["PreconditionFailed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  createPasskeyInvitation: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["Nothing"];
      };
    };
    responses: {
      /** @description The link. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PasskeyInvitation"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      409: components["responses"]["ReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listPasskeys: {
    parameters: {
      query?: {
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of passkeys. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PasskeyPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createPasskey: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreatePasskey"];
      };
    };
    responses: {
      /** @description The passkey. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Passkey"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      409: components["responses"]["QuotaExceeded"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrInvalidPasskeyOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  beginPasskey: {
    parameters: {
      query?: never;
      header?: {
        /** @description Has no effect: the operation creates nothing, and each response has a new challenge. A malformed key is rejected. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKeyWithoutEffect"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["Nothing"];
      };
    };
    responses: {
      /** @description The options. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PublicKeyOptions"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  deletePasskey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `psk_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The passkey before its deletion. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Passkey"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["LastPasskey"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  updatePasskey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `psk_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdatePasskey"];
      };
    };
    responses: {
      /** @description The passkey after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Passkey"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  beginOidcSignIn: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["BeginOidcSignIn"];
      };
    };
    responses: {
      /** @description The address. `Set-Cookie` contains the sealed attempt. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OidcRedirect"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequestWithoutKey"];
      403: components["responses"]["ForeignOriginWithoutKey"];
      404: components["responses"]["NotFoundWithoutKey"];
      413: components["responses"]["BodyTooLargeWithoutKey"];
      415: components["responses"]["UnsupportedMediaTypeWithoutKey"];
      422: components["responses"]["ValidationFailedWithoutKey"];
      429: components["responses"]["RateLimitedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableOrProviderUnavailableOrOutcomeUnknownWithoutKey"];
    };
  };
  beginOidcAcceptance: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["BeginOidcAcceptance"];
      };
    };
    responses: {
      /** @description The address. `Set-Cookie` contains the sealed attempt. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OidcRedirect"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequestWithoutKey"];
      403: components["responses"]["ForeignOriginWithoutKey"];
      404: components["responses"]["NotFoundOrInvalidInvitationWithoutKey"];
      413: components["responses"]["BodyTooLargeWithoutKey"];
      415: components["responses"]["UnsupportedMediaTypeWithoutKey"];
      422: components["responses"]["ValidationFailedWithoutKey"];
      429: components["responses"]["RateLimitedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableOrProviderUnavailableOrOutcomeUnknownWithoutKey"];
    };
  };
  endOidcAttempt: {
    parameters: {
      query?: {
        /** @description The authorization code. */
        code?: string;
        /** @description The state with which the attempt began. */
        state?: string;
        /** @description The issuer (RFC 9207). */
        iss?: string;
        /** @description Why the provider refused (RFC 6749 §4.1.2.1). */
        error?: string;
      };
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The page. `Set-Cookie` deletes the attempt, and may contain a session. */
      303: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          Location: components["headers"]["LocationOfPage"];
          "Referrer-Policy": components["headers"]["Referrer-Policy"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["MalformedRequestWithoutKey"];
      422: components["responses"]["ValidationFailedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableWithoutKey"];
      /** @description The head of the request is larger than 16 KiB, or malformed: 431 or 400 without a body. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  beginOidcIdentity: {
    parameters: {
      query?: never;
      header?: {
        /** @description Has no effect: the operation creates nothing, and each response has a new challenge. A malformed key is rejected. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKeyWithoutEffect"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["Nothing"];
      };
    };
    responses: {
      /** @description The address. `Set-Cookie` contains the sealed attempt. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OidcRedirect"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrProviderUnavailableOrOutcomeUnknown"];
    };
  };
  beginOidcVerification: {
    parameters: {
      query?: never;
      header?: {
        /** @description Has no effect: the operation creates nothing, and each response has a new challenge. A malformed key is rejected. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKeyWithoutEffect"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["BeginOidcVerification"];
      };
    };
    responses: {
      /** @description The address. `Set-Cookie` contains the sealed attempt. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          "Set-Cookie": components["headers"]["Set-Cookie"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["OidcRedirect"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      404: components["responses"]["NotFound"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrProviderUnavailableOrOutcomeUnknown"];
    };
  };
  listIdentities: {
    parameters: {
      query?: {
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of identities. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["IdentityPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRole"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteIdentity: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description With a session: the environment of the request. Required with the cookie; ignored with a key. */
        "Realtime-Avatar-Environment"?: components["parameters"]["Environment"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `idn_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The identity before it was unlinked. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Identity"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKeyOrInvalidSession"];
      403: components["responses"]["InsufficientRoleOrPasskeyRequired"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["LastPasskey"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getProblemType: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The code of the problem. */
        code:
          | "malformed_json"
          | "malformed_request"
          | "missing_api_key"
          | "invalid_api_key"
          | "revoked_api_key"
          | "expired_api_key"
          | "invalid_session"
          | "invalid_credentials"
          | "spend_limit_exceeded"
          | "insufficient_credits"
          | "insufficient_scope"
          | "grant_exceeds_caller"
          | "insufficient_role"
          | "passkey_required"
          | "foreign_origin"
          | "not_found"
          | "transcript_not_kept"
          | "invalid_invitation"
          | "method_not_allowed"
          | "invalid_transition"
          | "session_closed"
          | "avatar_not_ready"
          | "call_not_resumable"
          | "call_not_running"
          | "too_many_turns"
          | "recording_not_ready"
          | "asset_in_use"
          | "rotation_in_progress"
          | "quota_exceeded"
          | "last_owner"
          | "last_passkey"
          | "already_member"
          | "replay_unavailable"
          | "precondition_failed"
          | "body_too_large"
          | "unsupported_media_type"
          | "expectation_failed"
          | "validation_failed"
          | "invalid_passkey"
          | "idempotency_key_reused"
          | "rate_limited"
          | "concurrency_limit_reached"
          | "internal_error"
          | "realtime_not_configured"
          | "conversation_not_configured"
          | "recording_unsupported"
          | "recording_unavailable"
          | "unavailable"
          | "provider_unavailable"
          | "outcome_unknown";
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The explanation of the problem. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          Vary: components["headers"]["Vary"];
          "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
          "Cross-Origin-Opener-Policy": components["headers"]["Cross-Origin-Opener-Policy"];
          "Referrer-Policy": components["headers"]["Referrer-Policy"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ProblemType"];
          "text/html": string;
        };
      };
      400: components["responses"]["MalformedRequestWithoutKey"];
      404: components["responses"]["NotFoundWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
    };
  };
  onApiKeyCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "api_key";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["ApiKey"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onApiKeyUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "api_key";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["ApiKey"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onApiKeyRotated: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "api_key";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["ApiKey"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onApiKeyRevoked: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "api_key";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["ApiKey"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onApiKeyReportedLeaked: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "api_key";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["ApiKey"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onApiKeySpendLimitReached: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "api_key";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["ApiKey"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onApiKeyExpiring: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "api_key.created"
            | "api_key.updated"
            | "api_key.rotated"
            | "api_key.revoked"
            | "api_key.reported_leaked"
            | "api_key.spend_limit_reached"
            | "api_key.expiring";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "api_key";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["ApiKey"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAvatarCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "avatar";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Avatar"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAvatarUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "avatar";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Avatar"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAvatarDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "avatar";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Avatar"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAvatarPrepared: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "avatar";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Avatar"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAvatarPreparationFailed: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "avatar.created"
            | "avatar.updated"
            | "avatar.deleted"
            | "avatar.prepared"
            | "avatar.preparation_failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "avatar";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Avatar"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAssetCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "asset.created" | "asset.uploaded" | "asset.ready" | "asset.failed" | "asset.deleted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "asset";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Asset"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAssetUploaded: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "asset.created" | "asset.uploaded" | "asset.ready" | "asset.failed" | "asset.deleted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "asset";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Asset"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAssetReady: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "asset.created" | "asset.uploaded" | "asset.ready" | "asset.failed" | "asset.deleted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "asset";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Asset"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAssetFailed: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "asset.created" | "asset.uploaded" | "asset.ready" | "asset.failed" | "asset.deleted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "asset";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Asset"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onAssetDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "asset.created" | "asset.uploaded" | "asset.ready" | "asset.failed" | "asset.deleted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "asset";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Asset"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onCreditsGranted: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "credits";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["CreditBalance"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onCreditsVoided: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "credits";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["CreditBalance"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onCreditsAdjusted: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "credits";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["CreditBalance"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onCreditsLimitChanged: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "credits";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["CreditBalance"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onCreditsLow: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "credits";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["CreditBalance"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onCreditsExhausted: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type:
            | "credits.granted"
            | "credits.voided"
            | "credits.adjusted"
            | "credits.limit_changed"
            | "credits.low"
            | "credits.exhausted";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "credits";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["CreditBalance"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onUsageSessionOpened: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "usage_session.opened" | "usage_session.started" | "usage_session.ended";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "usage_session";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["UsageSession"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onUsageSessionStarted: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "usage_session.opened" | "usage_session.started" | "usage_session.ended";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "usage_session";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["UsageSession"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onUsageSessionEnded: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "usage_session.opened" | "usage_session.started" | "usage_session.ended";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "usage_session";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["UsageSession"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onVideoReady: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "video.ready" | "video.failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "video";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Video"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onVideoFailed: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "video.ready" | "video.failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "video";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Video"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onRecordingReady: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "recording.ready" | "recording.failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "recording";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Recording"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onRecordingFailed: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "recording.ready" | "recording.failed";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "recording";
            /** @description Grows with each event of this resource. */
            sequence: number;
            resource: components["schemas"]["Recording"];
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onWebhookEndpointDisabled: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "webhook_endpoint.disabled" | "webhook_endpoint.test";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "webhook_endpoint";
            /** @description Grows with each event of this resource. */
            sequence: number;
            /** @description Null when the endpoint was deleted before the event was sent. */
            resource: components["schemas"]["WebhookEndpoint"] | null;
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
  onWebhookEndpointTest: {
    parameters: {
      query?: never;
      header: {
        /** @description Id of the event, the same for each attempt. A receiver must ignore events that it has already handled. */
        "webhook-id": string;
        /** @description When the attempt was signed, in seconds since 1970. A receiver refuses one that is more than five minutes off. */
        "webhook-timestamp": string;
        /** @description HMAC-SHA-256 over id, timestamp and body, in base64 after `v1,`. For 24 hours after a rotation there are two, separated by a space. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @description Id of the event: the same for each endpoint and attempt, and the `webhook-id`. */
          id: string;
          /** @enum {string} */
          type: "webhook_endpoint.disabled" | "webhook_endpoint.test";
          /**
           * Format: date-time
           * @description When it happened.
           */
          timestamp: string;
          data: {
            /** @description Id of the resource. */
            id: string;
            /** @enum {string} */
            object: "webhook_endpoint";
            /** @description Grows with each event of this resource. */
            sequence: number;
            /** @description Null when the endpoint was deleted before the event was sent. */
            resource: components["schemas"]["WebhookEndpoint"] | null;
          };
        };
      };
    };
    responses: {
      410: components["responses"]["WebhookGone"];
      429: components["responses"]["WebhookTooMany"];
      "2XX": components["responses"]["WebhookReceived"];
      default: components["responses"]["WebhookNotReceived"];
    };
  };
}
