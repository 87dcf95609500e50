terraform {
  required_providers {
    lab = {}
  }
}
