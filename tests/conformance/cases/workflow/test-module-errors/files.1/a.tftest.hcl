run "a" {
  module {
    source = "./m"
  }
}
run "b" {}
