run "function" {
  variables {
    strict = jsondecode("{")
  }
}
