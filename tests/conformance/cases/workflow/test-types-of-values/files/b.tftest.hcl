run "null" {
  variables {
    strict = null
  }
}
