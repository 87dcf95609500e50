terraform {
  backend "nope" {
    x = 1
  }
}
