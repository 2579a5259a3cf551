#include <nki/nki.hpp>

#include <cstdio>

int main() {
  std::puts("nki consumer ok");
}
