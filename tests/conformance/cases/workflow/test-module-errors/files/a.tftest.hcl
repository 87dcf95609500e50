run "a" {
  module {
    source = "./none"
  }
}
