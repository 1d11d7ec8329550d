/** The picture of an avatar whose source is a test asset: an outline of a person, 256 pixels wide and high, as WebP. */
export const PLACEHOLDER: Uint8Array = Buffer.from(
  "UklGRqQBAABXRUJQVlA4IJgBAADQIACdASoAAQABP3G40GG0sSqmJb44EpAuCWlu4XSg+YYvngFv3CifDR82rnGiU96XONEp70ucaJT3pc40OgHj" +
    "54u7wrU5/YlPelzaaEAqWOUXndESoUKE96XNrlUT75UZbDgVAvho+aV9JrybF8rJ6rs7hQaenU93bFVvYxV1Jsy5xodooVc6SVOo+Bna/hz5" +
    "HaPm1ccEACpG7pt4+lgSrgn3pc4zqADX//bqktRtlcjKz6IxQYYlz+AmG5/R82hAdZ0wlhu/r2dj4Hl2fCZe9K/qaUSwqhgLSmXYzEOGrROn" +
    "teChjH5Mu5958ZtR0vn085rEaKtpq7S1BFaxWkgmlP6rV6sKj6wpVAZSu+kAAP799seY3kfVi8AgUF0gh/Ty8yG9B/sAeEF59vquBCTqhdoN" +
    "bjFu3QLXrMDveUuvBaSSLSQg8k2NJndpYBCp8TW86JrObJgfys4z+a03DZqaS8nbvnbPkqT3pTP0Ne+lF59m+qR9P55NvToyGGKQRez+1MCl" +
    "1U4+0t2UwiHKmDojnguchkpmIAA=",
  "base64",
);
