run "b" {
  module {
    source = "./m"
  }
}
