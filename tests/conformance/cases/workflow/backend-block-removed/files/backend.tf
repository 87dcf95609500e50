terraform {
  backend "local" {
    path = "first.tfstate"
  }
}
