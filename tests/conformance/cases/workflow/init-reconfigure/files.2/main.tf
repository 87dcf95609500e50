terraform {
  backend "local" {
    path = "third/s.tfstate"
  }
}
