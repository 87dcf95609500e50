terraform {
  backend "local" {
    path = "second.tfstate"
  }
}
