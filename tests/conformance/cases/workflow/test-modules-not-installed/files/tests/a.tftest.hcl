run "a" {
  module {
    source = "./mod"
  }
}

run "b" {
}
