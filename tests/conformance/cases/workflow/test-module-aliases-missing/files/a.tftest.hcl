provider "lab" {}
run "not_given" {
  module { source = "./m" }
}
