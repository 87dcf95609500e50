terraform {
  backend "local" {
    path = "other/s.tfstate"
  }
}
