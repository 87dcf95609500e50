terraform {
  backend "local" {
    paths = "x"
  }
}
