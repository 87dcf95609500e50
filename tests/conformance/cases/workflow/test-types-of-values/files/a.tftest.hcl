run "list" {
  variables {
    strict = "s"
    list = "text"
  }
}
