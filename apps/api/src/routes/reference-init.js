/* Runs in the browser, on the page of reference.ts. */
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  // No other host is asked whether the document is valid, and no link can put another document here.
  validatorUrl: null,
  queryConfigEnabled: false,
  // A key that was typed in is gone with the page.
  persistAuthorization: false,
  withCredentials: false,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});
