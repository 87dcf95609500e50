run "d" {
  module {
    source = "./m"
  }
}
